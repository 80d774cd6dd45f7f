import { Kind } from './abi.js';
import { json } from './container.js';
import { batchesOf } from './epochs.js';
import { InvalidError, OutOfRangeError, UnsupportedError } from './errors.js';
import { Handle, abortable } from './handle.js';
import { imagePlace, pixels } from './images.js';
import { cutPatches } from './patches.js';
import { integers } from './request.js';
export function parseLocation(text) {
    const at = text.indexOf('@');
    if (at < 0 && text !== '')
        return { path: text, index: null };
    const digits = text.slice(0, at);
    const index = /^[0-9]+$/.test(digits) ? Number(digits) - 1 : -1;
    const path = text.slice(at + 1);
    if (index < 0 || !Number.isSafeInteger(index) || path === '')
        throw new InvalidError(`${JSON.stringify(text)} names no image`);
    return { path, index };
}
export class ImageScratch {
    #gridhold;
    #handle;
    #numbers;
    #kinds = new Map();
    constructor(gridhold, handle, numbers) {
        this.#gridhold = gridhold;
        this.#handle = handle;
        this.#numbers = numbers;
        handle.ownedBy(this);
    }
    async read(locations, options = {}) {
        const wanted = [];
        let like;
        for (const { path, index } of locations) {
            const { images, image_shape: shape, data_type: dtype } = await this.#describe(path);
            if (like !== undefined && (like.dtype !== dtype || like.shape.join() !== shape.join())) {
                throw new InvalidError(`${path}: ${dtype} of [${shape}], not ${like.dtype} of [${like.shape}]`, { item: path });
            }
            like = { shape, dtype };
            if (index !== null && !(index >= 0 && index < images))
                throw new OutOfRangeError(`${path} has ${images} images`, { item: path });
            const number = this.#numbers.get(path);
            if (index !== null)
                wanted.push([number, index]);
            else
                for (let i = 0; i < images; i++)
                    wanted.push([number, i]);
        }
        if (like === undefined)
            throw new InvalidError('no images');
        const guest = await this.#gridhold.guest();
        const request = new Uint8Array(8 + 16 * wanted.length);
        new DataView(request.buffer).setUint32(0, await this.#handle.on(guest), true);
        putImages(request, 8, wanted);
        const { bytes } = await guest.run(Kind.scratchRead, request, options.signal);
        return pixels(bytes, [wanted.length, ...like.shape], like.dtype);
    }
    async *batches(locations, batchSize, options = {}) {
        const read = async (rows) => rows && { rows, images: await this.read(Array.from(rows, (i) => locations[i]), options) };
        const parts = batchesOf(locations.length, batchSize, options);
        let ahead = read(parts[0]);
        for (let i = 1;; i++) {
            const batch = await ahead;
            if (batch === undefined)
                return;
            ahead = read(parts[i]);
            ahead.catch(() => { });
            yield batch;
        }
    }
    async readPatches(at, extent, centres, options = {}) {
        const { fill = 0 } = options;
        const image = await this.read([at], options);
        const outside = new Uint8Array(image.type.itemSize);
        const pixel = pixels(outside, [1], image.dtype).data;
        if (fill !== 0 && image.dtype === 'float16' && pixel instanceof Uint16Array)
            throw new UnsupportedError('no float16 here', { item: at.path });
        pixel[0] = fill;
        const shape = at.index === null ? image.shape : image.shape.slice(1);
        return pixels(cutPatches(image.bytes, shape, extent, centres, outside), [centres.length, ...extent], image.dtype);
    }
    async prefetch(paths, options = {}) {
        for (const path of paths ?? this.#numbers.keys())
            await this.#do('prefetch', path, options.signal);
    }
    async stats() {
        return (await this.#do('stats'));
    }
    close() {
        this.#handle.close();
    }
    [Symbol.dispose]() {
        this.close();
    }
    async #describe(path) {
        let kind = this.#kinds.get(path);
        if (kind === undefined) {
            [kind] = (await this.#do('describe', path));
            this.#kinds.set(path, kind);
        }
        return kind;
    }
    async #do(deed, path, signal) {
        const number = path === undefined ? undefined : this.#numbers.get(path);
        if (path !== undefined && number === undefined)
            throw new InvalidError(`${path}: not a file of this scratch`, { item: path });
        const guest = await this.#gridhold.guest();
        const request = json({ scratch: await this.#handle.on(guest), do: deed, keys: number === undefined ? [] : [number] });
        return JSON.parse(new TextDecoder().decode((await guest.run(Kind.scratchDo, request, signal)).bytes));
    }
}
function putImages(into, at, images) {
    const v = new DataView(into.buffer, into.byteOffset, into.byteLength);
    for (const [number, index] of images) {
        v.setUint32(at, number, true);
        v.setBigInt64(at + 8, BigInt(index), true);
        at += 16;
    }
}
export async function createScratch(gridhold, file, locations, runLength, files, options) {
    options.signal?.throwIfAborted();
    const { maxSize, verify = 'first', readOnly } = options;
    integers('runLength', [runLength, maxSize ?? 0]);
    if (runLength < 1)
        throw new InvalidError('a run has one image at least', { item: 'runLength' });
    const numbers = new Map();
    for (const { path } of locations)
        if (!numbers.has(path))
            numbers.set(path, numbers.size);
    const { source, roots = [] } = files;
    const from = imagePlace(gridhold, typeof source === 'object' && 'files' in source ? { ...source, name: '' } : source, '.');
    const fs = file === undefined ? 0 : gridhold.systems.acquire(file.files);
    const request = pack(json({
        where: file === undefined ? 'memory' : 'file', fs, name: file?.name ?? '', read_only: readOnly, run_length: runLength,
        ...(maxSize === undefined ? {} : { budget: maxSize }), verify, files: { ...from.where, roots },
    }), locations, numbers);
    const handle = new Handle('scratch', async (guest) => (await guest.run(Kind.scratchOpen, request)).object, () => {
        from.release();
        if (file !== undefined)
            gridhold.systems.release(fs);
    });
    try {
        await abortable(handle.on(await gridhold.guest()), options.signal);
        return new ImageScratch(gridhold, handle, numbers);
    }
    catch (error) {
        handle.close();
        throw error;
    }
}
function pack(text, locations, numbers) {
    const keys = [...numbers.keys()].map((key) => new TextEncoder().encode(key));
    const size = 8 + text.length + keys.reduce((n, key) => n + 4 + key.length, 0) + 16 * locations.length;
    const out = new Uint8Array(size);
    const v = new DataView(out.buffer);
    v.setUint32(0, text.length, true);
    out.set(text, 4);
    let at = 4 + text.length;
    v.setUint32(at, keys.length, true);
    at += 4;
    for (const key of keys) {
        v.setUint32(at, key.length, true);
        out.set(key, at + 4);
        at += 4 + key.length;
    }
    putImages(out, at, locations.map(({ path, index }) => [numbers.get(path), index ?? -1]));
    return out;
}
