// Opening and making containers.
import { Kind } from './abi.js';
import { Core, json } from './container.js';
import { InvalidError } from './errors.js';
import { NDArray, SChunk, bytesOf } from './frame.js';
import { DictStore, EmbedStore, TreeStore, opened } from './key-store.js';
import { numpyCode } from './numpy.js';
import { integers } from './request.js';
import { objectAt } from './store.js';
const filters = { nofilter: 0, shuffle: 1, bitshuffle: 2, delta: 3, trunc_prec: 4, bytedelta: 35 };
function isFile(source) {
    return typeof source === 'object' && 'files' in source;
}
/** Opens a container. */
export async function openContainer(gridhold, source, options) {
    const { recipe, name, release } = place(gridhold, source, options);
    const core = await Core.open(gridhold, name, async () => ({ kind: Kind.containerOpen, request: json(recipe) }), release);
    if (options.key === undefined)
        return opened(core);
    try {
        const leaf = await core.leaf(options.key.startsWith('/') ? options.key : `/${options.key}`);
        leaf.keep(core);
        return opened(leaf);
    }
    catch (error) {
        await core.close();
        throw error;
    }
}
function place(gridhold, source, options) {
    const { mode = 'r' } = options;
    if (isFile(source)) {
        const fs = gridhold.systems.acquire(source.files);
        return {
            recipe: { fs, name: source.name, write: mode === 'a', ...how(options) },
            name: source.name,
            release: () => gridhold.systems.release(fs),
        };
    }
    if (mode !== 'r')
        throw new InvalidError('objects of a store are only read');
    let name = options.path;
    if (typeof source === 'string' && name === undefined) {
        ({ store: source, key: name } = objectAt(source));
    }
    if (!name)
        throw new InvalidError('a container in a store has a path there');
    const { store, release } = gridhold.acquire(source);
    return { recipe: { store, name }, name, release };
}
/** Makes an array. */
export async function createArray(gridhold, target, options) {
    const { shape, chunks, blocks } = options;
    for (const [what, numbers] of Object.entries({ shape, chunks, blocks }))
        integers(what, numbers ?? []);
    return new NDArray(await create(gridhold, target, { kind: 'ndarray', dtype: numpyCode(options.dtype), shape, chunks, blocks }, options));
}
/** Makes a sequence. */
export async function createSChunk(gridhold, target, options) {
    const { typesize = 1, chunksize = options.data?.byteLength ?? 0 } = options;
    return new SChunk(await create(gridhold, target, { kind: 'schunk', typesize, chunksize }, options));
}
/** Makes a store. */
export async function createStore(gridhold, target, options) {
    const { kind, threshold = 0 } = options;
    return opened(await create(gridhold, target, { kind, threshold }, options));
}
async function create(gridhold, target, spec, options) {
    if (!isFile(target))
        throw new InvalidError('containers are made in files');
    const { mode = 'x', contiguous = true } = options;
    const fs = gridhold.systems.acquire(target.files);
    const recipe = { fs, name: target.name, ...how(options) };
    const modes = { x: {}, w: { replace: true }, a: { or_open: true } };
    const text = json({ ...spec, ...packing(options.cparams), ...recipe, ...modes[mode], sparse: !contiguous });
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
    }, () => gridhold.systems.release(fs));
}
/** The part of a request that says how to write and lock. */
function how({ durability = 'close', locking, lockTimeout = 0, lockNetwork = false }) {
    const said = { true: 'always', false: 'never', if_possible: 'if_possible' }[`${locking ?? lockingOf()}`];
    if (said === undefined)
        throw new InvalidError(`locking: ${locking}: true, false or 'if_possible' is needed`);
    integers('lockTimeout', [lockTimeout]);
    return { durability, locking: said, lock_timeout_ms: lockTimeout, lock_network: lockNetwork };
}
/** What the environment asks for, as python-blosc2 reads it. */
function lockingOf() {
    const { process } = globalThis;
    return ['', '0'].includes(process?.env?.BLOSC_LOCKING ?? '') ? false : 'if_possible';
}
/** `cparams` as the core has them. */
function packing(cparams) {
    if (cparams === undefined)
        return {};
    const { codec = 'zstd', clevel = 5, filters: names = ['shuffle'], filtersMeta = [] } = cparams;
    // One filter goes last, as the peer's do.
    const all = [...Array(Math.max(0, 6 - names.length)).fill('nofilter'), ...names];
    const metas = [...Array(Math.max(0, 6 - names.length)).fill(0), ...filtersMeta];
    return { codec, level: clevel, filters: all.map((name, i) => [filters[name], metas[i] ?? 0]) };
}
