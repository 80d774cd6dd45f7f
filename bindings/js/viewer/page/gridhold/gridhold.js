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
    static compile(options = {}) {
        return compile(options.wasm, options.memory ?? DEFAULT_MEMORY);
    }
    get memorySize() {
        return (this.#guest?.memorySize ?? 0) + (this.#pool?.memorySize ?? 0);
    }
    get readers() {
        return this.#pool?.size ?? 1;
    }
    reader(shard) {
        return this.#pool === undefined ? this.guest() : this.#pool.runner(shard);
    }
    openArray(source, options = {}) {
        return this.#open(source, 'array', options);
    }
    openGroup(source, options = {}) {
        return this.#open(source, 'group', options);
    }
    open(source, options = {}) {
        return this.#open(source, 'any', options);
    }
    openMultiscale(source, options = {}) {
        return openMultiscale(this, source, options);
    }
    list(source, options = {}) {
        return this.#ask(Kind.list, source, options);
    }
    verify(source, options = {}) {
        return this.#ask(Kind.verify, source, options);
    }
    async openContainer(source, options = {}) {
        return openContainer(this, source, options);
    }
    async createArray(target, options) {
        return createArray(this, target, options);
    }
    async createSChunk(target, options = {}) {
        return createSChunk(this, target, options);
    }
    async createStore(target, options) {
        return createStore(this, target, options);
    }
    async openStack(source, options = {}) {
        return openStack(this, source, options);
    }
    async readTable(source, options = {}) {
        return readTable(this, source, options);
    }
    async createHostImageScratch(locations, runLength, maxSize, files, { file, signal } = {}) {
        return createScratch(this, file, locations, runLength, files, { maxSize, signal, readOnly: false });
    }
    async openImageScratch(source, locations, runLength, files, options = {}) {
        const file = fileOf(source);
        if (file === undefined)
            throw new InvalidError('a scratch is a file');
        return createScratch(this, file, locations, runLength, files, { ...options, readOnly: true });
    }
    get systems() {
        return this.#outside.systems;
    }
    close() {
        this.#closed = true;
        this.#guest?.close();
        this.#guest = undefined;
        this.#pool?.close();
    }
    [Symbol.dispose]() {
        this.close();
    }
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
function checkShapes(info) {
    for (const shape of [info.shape, info.chunk_shape, info.chunk_grid_shape, info.subchunk_grid_shape]) {
        if (!(shape ?? []).every(Number.isSafeInteger))
            throw new LimitError(`${info.path || '/'}: a shape beyond 2^53`, { item: 'shape' });
    }
}
