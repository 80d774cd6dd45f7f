import { Kind } from './abi.js';
import { Core, fileOf, json } from './container.js';
import { InvalidError } from './errors.js';
import { NDArray, SChunk, bytesOf } from './frame.js';
import { DictStore, EmbedStore, TreeStore, opened } from './key-store.js';
import { numpyCode } from './numpy.js';
import { integers } from './request.js';
import { objectIn } from './store.js';
import { how, modes, packing } from './writing.js';
export async function openContainer(gridhold, source, options) {
    options.signal?.throwIfAborted();
    const { recipe, name, release } = place(gridhold, source, options);
    let { repair = false } = options;
    const opening = async () => {
        const request = json({ ...recipe, repair });
        repair = false;
        return { kind: Kind.containerOpen, request };
    };
    const core = await Core.open(gridhold, name, opening, release, options.signal);
    if (options.key === undefined)
        return opened(core);
    try {
        const leaf = await core.leaf(options.key.startsWith('/') ? options.key : `/${options.key}`, false, options);
        leaf.keep(core);
        return opened(leaf);
    }
    catch (error) {
        await core.close();
        throw error;
    }
}
function place(gridhold, source, options) {
    const { mode = 'r', path } = options;
    const file = path === undefined ? fileOf(source) : undefined;
    if (file !== undefined) {
        const fs = gridhold.systems.acquire(file.files);
        return {
            recipe: { fs, name: file.name, write: mode === 'a', ...how(options) },
            name: file.name,
            release: () => gridhold.systems.release(fs),
        };
    }
    if (mode !== 'r' || options.repair)
        throw new InvalidError('objects of a store are only read');
    const object = objectIn(source, path);
    const { store, release } = gridhold.acquire(object.store);
    return { recipe: { store, name: object.key }, name: object.key, release };
}
export async function createArray(gridhold, target, options) {
    const { shape, chunks, blocks } = options;
    for (const [what, numbers] of Object.entries({ shape, chunks, blocks }))
        integers(what, numbers ?? []);
    return new NDArray(await create(gridhold, target, { kind: 'ndarray', dtype: numpyCode(options.dtype), shape, chunks, blocks }, options));
}
export async function createSChunk(gridhold, target, options) {
    const { typesize = 1, chunksize = options.data?.byteLength ?? 0 } = options;
    return new SChunk(await create(gridhold, target, { kind: 'schunk', typesize, chunksize }, options));
}
export async function createStore(gridhold, target, options) {
    const { kind, threshold = 0 } = options;
    return opened(await create(gridhold, target, { kind, threshold }, options));
}
async function create(gridhold, where, spec, options) {
    options.signal?.throwIfAborted();
    const target = fileOf(where);
    if (target === undefined)
        throw new InvalidError('containers are made in files');
    const { mode = 'x', contiguous = true, checksums = false } = options;
    const fs = gridhold.systems.acquire(target.files);
    const recipe = { fs, name: target.name, ...how(options) };
    const text = json({ ...spec, ...packing(options.cparams), ...recipe, ...modes[mode], sparse: !contiguous, checksums });
    const data = options.data === undefined ? new Uint8Array() : bytesOf(options.data);
    const request = new Uint8Array(4 + text.length + data.length);
    new DataView(request.buffer).setUint32(0, text.length, true);
    request.set(text, 4);
    request.set(data, 4 + text.length);
    let made = false;
    return Core.open(gridhold, target.name, async () => {
        if (made)
            return { kind: Kind.containerOpen, request: json({ ...recipe, write: true }) };
        made = true;
        return { kind: Kind.containerCreate, request };
    }, () => gridhold.systems.release(fs), options.signal);
}
