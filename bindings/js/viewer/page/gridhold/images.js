import { Kind } from './abi.js';
import { fileOf, json } from './container.js';
import { dataType } from './dtype.js';
import { CorruptError, LimitError, OutOfRangeError, StaleError, errorOf } from './errors.js';
import { Handle, abortable } from './handle.js';
import { integers, packed } from './request.js';
import { objectIn } from './store.js';
import { ndArray } from './values.js';
const ROW = 48;
export function imagePlace(gridhold, source, path) {
    const file = fileOf(source);
    if (file !== undefined && (path === undefined || file === source)) {
        const fs = gridhold.systems.acquire(file.files);
        return { where: { fs }, name: path ?? file.name, release: () => gridhold.systems.release(fs) };
    }
    const object = objectIn(source, path);
    const { store, release } = gridhold.acquire(object.store);
    return { where: { store }, name: object.key, release };
}
export function pixels(bytes, shape, dtype) {
    if (dtype !== 'complex_int16')
        return ndArray(bytes, shape, dataType(dtype));
    return { data: new Int16Array(bytes.buffer), bytes, shape, dtype, type: { name: dtype, itemSize: 4 } };
}
export class ImageStack {
    #gridhold;
    #handle;
    info;
    constructor(gridhold, handle, info) {
        this.#gridhold = gridhold;
        this.#handle = handle;
        this.info = info;
        handle.ownedBy(this);
    }
    get length() {
        return this.info.images;
    }
    get shape() {
        return this.info.shape;
    }
    get imageShape() {
        return this.info.image_shape;
    }
    get dtype() {
        return this.info.data_type;
    }
    async image(index, options = {}) {
        const { bytes } = await this.read(index, 1, options);
        return pixels(bytes, [...this.imageShape], this.dtype);
    }
    async read(first, count, options = {}) {
        integers('image', [first, count]);
        if (first < 0 || count < 0 || first + count > this.length) {
            throw new OutOfRangeError(`images ${first} to ${first + count} are not all there: the file has ${this.length}`);
        }
        const guest = await this.#gridhold.guest();
        const request = packed([await this.#handle.on(guest), 0], [first, count]);
        const { bytes } = await guest.run(Kind.imagesRead, request, options.signal);
        return pixels(bytes, [count, ...this.imageShape], this.dtype);
    }
    close() {
        this.#handle.close();
    }
    [Symbol.dispose]() {
        this.close();
    }
}
export async function openStack(gridhold, source, options) {
    options.signal?.throwIfAborted();
    const { where, name, release } = imagePlace(gridhold, source, options.path);
    const { roots = [], bytes = 'marked', partial = false } = options;
    const request = json({ ...where, key: name, roots, bytes, partial });
    let first;
    const handle = new Handle(name, async (guest) => {
        const reply = await guest.run(Kind.imagesOpen, request);
        const text = new TextDecoder().decode(reply.bytes);
        first ??= text;
        if (text !== first)
            throw new StaleError(`${name}: another file since it was opened`, { item: name });
        return reply.object;
    }, release);
    try {
        await abortable(handle.on(await gridhold.guest()), options.signal);
        const info = JSON.parse(first);
        if (![...info.shape, info.images].every(Number.isSafeInteger))
            throw new LimitError(`${name}: a shape beyond 2^53`, { item: name });
        return new ImageStack(gridhold, handle, info);
    }
    catch (error) {
        handle.close();
        throw error;
    }
}
export async function readTable(gridhold, source, options) {
    const { where, name, release } = imagePlace(gridhold, source, options.path);
    const { column = '', clean = false } = options;
    const rows = [];
    try {
        for (;;) {
            const guest = await gridhold.guest();
            const request = json({ ...where, key: name, column, clean, first: rows.length });
            const head = addRows(rows, (await guest.run(Kind.tableRead, request, options.signal)).bytes);
            if (head.failure !== undefined)
                throw errorOf(head.failure.code, head.failure.text, { item: head.failure.item ?? '' });
            if (head.end) {
                const optics = (head.groups ?? []).map((g) => ({ group: g.group, name: g.name, pixelSize: g.pixel_size }));
                return { kind: head.kind, rows, optics };
            }
        }
    }
    finally {
        release();
    }
}
function addRows(rows, bytes) {
    const v = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const length = v.getUint32(0, true);
    const count = v.getUint32(4, true);
    const start = Math.ceil((8 + length) / 8) * 8;
    if (start + count * ROW !== bytes.length)
        throw new CorruptError('a table is not as long as it says');
    const head = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
    for (let at = start; at < bytes.length; at += ROW) {
        const index = Number(v.getBigInt64(at, true));
        rows.push({
            path: head.keys[v.getUint32(at + 40, true)],
            index: index < 0 ? null : index,
            group: Number(v.getBigInt64(at + 16, true)),
            pixelSize: v.getFloat64(at + 24, true),
            uid: v.getBigUint64(at + 32, true),
        });
    }
    return head;
}
