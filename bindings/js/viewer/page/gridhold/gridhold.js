// The door: loads the guest, keeps one living instance of it, opens things.
import { Kind } from './abi.js';
import { GridArray } from './array.js';
import { fileOf } from './container.js';
import { createArray, createSChunk, createStore, openContainer, } from './creating.js';
import { DirectReads } from './direct.js';
import { ClosedError, InvalidError, LimitError, StaleError } from './errors.js';
import { SystemTable } from './files.js';
import { GridGroup } from './group.js';
import { Guest } from './guest.js';
import { Handle, abortable } from './handle.js';
import { openStack, readTable } from './images.js';
import { createScratch } from './scratch.js';
import { codecModule } from './load-options.js';
import { compile } from './loader.js';
import { DEFAULT_MEMORY } from './maximum.js';
import { placeOf } from './index-pack.js';
import { openMultiscale } from './multiscale.js';
import { Pool } from './pool.js';
import { pathOf, platform } from './platform.js';
import { HttpStore, StoreTable, ZipStore, storeOf } from './store.js';
import { checkByteOrder } from './values.js';
export class Gridhold {
    #module;
    #memory;
    #outside;
    #guest;
    #starting;
    #pool;
    #closed = false;
    constructor(module, memory, outside) {
        this.#module = module;
        this.#memory = memory;
        this.#outside = outside;
    }
    /** Loads the guest and starts an instance. Rejects with IOError, CorruptError, LimitError, UnsupportedError. */
    static async load(options = {}) {
        checkByteOrder();
        const memory = options.memory ?? DEFAULT_MEMORY;
        if (!Number.isSafeInteger(memory) || memory <= 0)
            throw new InvalidError(`memory: ${memory} is not a number of bytes`);
        const { pool = 0, strict = false } = options;
        if (!Number.isSafeInteger(pool) || pool < 0 || pool > 64)
            throw new InvalidError(`pool: ${pool} is not from 0 to 64`, { item: 'pool' });
        const lent = strict ? undefined : codecModule(options.codecs);
        if (pool > 0 && !strict && options.codecs !== undefined && lent === undefined) {
            throw new InvalidError('codecs: workers take those of a module, named by its URL', { item: 'codecs' });
        }
        const module = await compile(options.wasm, memory);
        const gridhold = new Gridhold(module, memory, {
            stores: new StoreTable(),
            systems: new SystemTable(),
            // Called as a plain function: the platform's fetch refuses any other `this`.
            fetch: options.fetch ?? ((input, init) => fetch(input, init)),
            codecs: strict ? {} : lent === undefined ? (options.codecs ?? {}) : (await import(lent)),
            strict,
            log: options.log ?? (() => { }),
        });
        await gridhold.guest();
        if (pool > 0) {
            const start = { module, memory, codecs: lent, fetches: options.fetch !== undefined };
            try {
                gridhold.#pool = await Pool.start(pool, start, gridhold.#outside);
            }
            catch (error) {
                gridhold.close();
                throw error;
            }
        }
        return gridhold;
    }
    /** Compiles a guest, to be sent to workers and given to `load` there. */
    static compile(options = {}) {
        return compile(options.wasm, options.memory ?? DEFAULT_MEMORY);
    }
    /** Size of the memory of all instances now, in bytes. */
    get memorySize() {
        return (this.#guest?.memorySize ?? 0) + (this.#pool?.memorySize ?? 0);
    }
    /** @internal How many instances read arrays. */
    get readers() {
        return this.#pool?.size ?? 1;
    }
    /** @internal The instance that reads a shard; without one, any. */
    reader(shard) {
        return this.#pool === undefined ? this.guest() : this.#pool.runner(shard);
    }
    /** Opens an array. Rejects with NotFoundError, CorruptError, UnsupportedError, InvalidError where it is a group. */
    openArray(source, options = {}) {
        return this.#open(source, 'array', options);
    }
    /** Opens a group. Errors as of `openArray`. */
    openGroup(source, options = {}) {
        return this.#open(source, 'group', options);
    }
    /** Opens whatever is there. Errors as of `openArray`. */
    open(source, options = {}) {
        return this.#open(source, 'any', options);
    }
    /**
     * Opens the levels of an OME-Zarr pyramid (0.4 and 0.5). Errors as of `openGroup`; rejects with InvalidError where the
     * group has none.
     */
    openMultiscale(source, options = {}) {
        return openMultiscale(this, source, options);
    }
    /** All nodes below a group. Needs a store that can list, or consolidated metadata. */
    list(source, options = {}) {
        return this.#ask(Kind.list, source, options);
    }
    /** Reads every index, checksum and chunk of what is there, and says what is damaged. */
    verify(source, options = {}) {
        return this.#ask(Kind.verify, source, options);
    }
    /**
     * Opens a Blosc2 container: by its URL; as an object of a store, whose name `path` is; a `File` that a user chose; or in
     * Node by its path (`containerFile` of the subpath says more). Rejects with NotFoundError, CorruptError, UnsupportedError, LimitError.
     */
    async openContainer(source, options = {}) {
        return openContainer(this, source, options);
    }
    /** Makes an array in a file and opens it for writing. Rejects with ExistsError. */
    async createArray(target, options) {
        return createArray(this, target, options);
    }
    /** Makes a sequence in a file and opens it for writing. Rejects with ExistsError. */
    async createSChunk(target, options = {}) {
        return createSChunk(this, target, options);
    }
    /** Makes a store of frames and opens it for writing. Rejects with ExistsError. */
    async createStore(target, options) {
        return createStore(this, target, options);
    }
    /**
     * Opens an MRC file: by its URL; as an object of a store, whose name `path` is; a `File` that a user chose; or in Node by
     * its path. Rejects with NotFoundError, CorruptError, UnsupportedError.
     */
    async openStack(source, options = {}) {
        return openStack(this, source, options);
    }
    /** Reads a table of images: STAR, cryoSPARC's .cs, or a list. Sources as of `openStack`. Rejects with CorruptError, InvalidError. */
    async readTable(source, options = {}) {
        return readTable(this, source, options);
    }
    /**
     * Makes a scratch: images of `files` are read once, in runs of `runLength`, as far as `maxSize` bytes go. It is in the
     * instance's memory, of which it may take half, or in a file of `originPrivate`, where it is found again. Rejects with
     * InvalidError where there is nothing to hold.
     */
    async createHostImageScratch(locations, runLength, maxSize, files, { file, signal } = {}) {
        return createScratch(this, file, locations, runLength, files, { maxSize, signal, readOnly: false });
    }
    /**
     * Opens a scratch file that other programs make and fill, for reading. What is not there yet is read from `files`.
     * Rejects with NotFoundError where there is no scratch of these locations and run length.
     */
    async openImageScratch(source, locations, runLength, files, options = {}) {
        const file = fileOf(source);
        if (file === undefined)
            throw new InvalidError('a scratch is a file');
        return createScratch(this, file, locations, runLength, files, { ...options, readOnly: true });
    }
    /** @internal The file systems that are lent. */
    get systems() {
        return this.#outside.systems;
    }
    /** Ends the instance. What runs is rejected with ClosedError, and so is every later call. Twice is fine. */
    close() {
        this.#closed = true;
        this.#guest?.close();
        this.#guest = undefined;
        this.#pool?.close();
    }
    [Symbol.dispose]() {
        this.close();
    }
    /** @internal The living instance; a fresh one where the last has died or panicked. */
    guest() {
        if (this.#closed)
            throw new ClosedError('gridhold: closed');
        if (this.#guest?.usable)
            return this.#guest;
        this.#starting ??= Guest.start(this.#module, this.#memory, this.#outside).then((guest) => {
            this.#starting = undefined;
            this.#guest = guest;
            if (this.#closed)
                guest.close();
            return guest;
        }, (error) => {
            this.#starting = undefined;
            throw error;
        });
        return this.#starting;
    }
    async #open(source, node, options) {
        options.signal?.throwIfAborted();
        const { path = '', consolidated = false, trace = false, indexPack } = options;
        const packed = indexPack === undefined ? undefined : placeOf(indexPack);
        const { store, release: releaseStore } = this.acquire(source);
        const pack = packed === undefined ? undefined : this.acquire(packed.store);
        const release = () => {
            releaseStore();
            pack?.release();
        };
        const index_pack = pack === undefined ? undefined : { store: pack.store, key: packed.key };
        const request = json({ store, path, node, consolidated, trace, index_pack });
        let first;
        const handle = new Handle(path || '/', async (guest) => {
            const reply = await guest.run(Kind.open, request);
            const text = new TextDecoder().decode(reply.bytes);
            first ??= text;
            if (text !== first)
                throw new StaleError(`${path || '/'}: the metadata has changed since it was opened`, { item: path });
            return reply.object;
        }, release);
        try {
            await abortable(handle.on(await this.guest()), options.signal);
            const info = JSON.parse(first);
            if (info.kind === 'group')
                return new GridGroup(this, source, handle, info, { consolidated, trace, indexPack });
            checkShapes(info);
            return new GridArray(this, handle, info, trace, trace ? undefined : this.#direct(source, handle, info));
        }
        catch (error) {
            handle.close();
            throw error;
        }
    }
    /** How subchunks of an array are read past the guest: not where that is asked to do all, nor where workers read. */
    #direct(source, handle, info) {
        const { fetch, codecs, strict } = this.#outside;
        if (strict || this.#pool !== undefined || pathOf(source) !== undefined)
            return undefined;
        const store = storeOf(source);
        return store instanceof HttpStore ? DirectReads.of(info, handle, store, fetch, codecs) : undefined;
    }
    async #ask(kind, source, options) {
        const { store, release } = this.acquire(source);
        try {
            const guest = await this.guest();
            const { path = '', consolidated = false } = options;
            const reply = await guest.run(kind, json({ store, path, consolidated }), options.signal);
            return JSON.parse(new TextDecoder().decode(reply.bytes));
        }
        finally {
            release();
        }
    }
    /** @internal A source as the guest is told of it, kept in the table until it is released. */
    acquire(source) {
        const path = pathOf(source);
        if (path !== undefined)
            return this.#directory(path);
        const store = storeOf(source);
        if (store instanceof ZipStore) {
            const inner = this.acquire(store.store);
            return { store: { ...inner.store, zip: store.key }, release: inner.release };
        }
        if (store instanceof HttpStore) {
            const { forbiddenIsMissing = false, noSuffix = false, gap, maxMerged: max_merged, parallel } = store.options;
            return {
                store: { kind: 'http', url: store.url, forbidden_is_missing: forbiddenIsMissing, no_suffix: noSuffix, gap, max_merged, parallel },
                release: () => { },
            };
        }
        const { stores } = this.#outside;
        const id = stores.acquire(store);
        return { store: { kind: 'host', id }, release: () => stores.release(id) };
    }
    /** A directory by its path; a file is an archive. */
    #directory(path) {
        const { stores } = this.#outside;
        const archive = /\.(zip|ozx)$/i.test(path) ? /^(.*?)([^/\\]+)$/.exec(path) : null;
        const store = platform.directory(archive === null ? path : archive[1] || '.');
        const id = stores.acquire(store);
        const release = () => {
            stores.release(id);
            store.close();
        };
        return { store: { kind: 'host', id, ...(archive === null ? {} : { zip: archive[2] }) }, release };
    }
}
function json(value) {
    return new TextEncoder().encode(JSON.stringify(value));
}
/** JSON numbers are exact up to 2^53; an array that reaches further is refused. */
function checkShapes(info) {
    for (const shape of [info.shape, info.chunk_shape, info.chunk_grid_shape, info.subchunk_grid_shape]) {
        if (!(shape ?? []).every(Number.isSafeInteger))
            throw new LimitError(`${info.path || '/'}: a shape beyond 2^53`, { item: 'shape' });
    }
}
