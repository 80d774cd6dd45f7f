import { Kind } from './abi.js';
import { parts, places } from './batch.js';
import { ShardCache } from './cache.js';
import { costOf } from './cost.js';
import { dataType } from './dtype.js';
import { InvalidError, OutOfRangeError, WrongArrayError } from './errors.js';
import { integers, packed } from './request.js';
import { joined, slabsOf } from './slabs.js';
import { ndArray } from './values.js';
const RELOAD = 2;
export class GridArray {
    #gridhold;
    #handle;
    info;
    type;
    #direct;
    #counter;
    constructor(gridhold, handle, info, traced, direct) {
        this.#gridhold = gridhold;
        this.#direct = direct;
        this.#handle = handle;
        this.info = info;
        this.type = dataType(info.data_type_json);
        handle.ownedBy(this);
        if (traced)
            this.#counter = this.shardCache({ budget: 1 });
    }
    get path() {
        return this.info.path;
    }
    get shape() {
        return this.info.shape;
    }
    get chunkShape() {
        return this.info.chunk_shape ?? undefined;
    }
    chunkShapeAt(chunk) {
        const { chunk_grid_shape: grid, chunk_shape: shape, chunk_edges: edges } = this.info;
        if (chunk.length !== grid.length || !chunk.every((at, axis) => at >= 0 && at < grid[axis])) {
            throw new OutOfRangeError(`chunk [${chunk}] is outside the grid [${grid}]`, { item: this.path });
        }
        return shape === null ? chunk.map((at, axis) => lengthAt(edges[axis], at)) : [...shape];
    }
    get chunkGridShape() {
        return this.info.chunk_grid_shape;
    }
    get subchunkShape() {
        return this.info.subchunk_shape ?? undefined;
    }
    get effectiveSubchunkShape() {
        return this.info.effective_subchunk_shape ?? undefined;
    }
    get subchunkGridShape() {
        return this.info.subchunk_grid_shape;
    }
    get isSharded() {
        return this.info.is_sharded;
    }
    get dtype() {
        return this.type.name;
    }
    get attributes() {
        return this.info.attributes ?? {};
    }
    shardCache(options = {}) {
        return new ShardCache(this.#gridhold, this.#handle, options);
    }
    async retrieveSubchunk(index, options = {}) {
        integers('index', index);
        const bytes = (await this.#past(index, options)) ?? (await this.#read(Kind.readSubchunk, index, index.length, index, options));
        return this.#subchunk(index, bytes);
    }
    async retrieveSubchunks(indices, options = {}) {
        const all = await this.#readAll(Kind.readSubchunks, indices, options, parts);
        return all.map((part, i) => this.#subchunk(indices[i], part));
    }
    async locateSubchunks(indices, options = {}) {
        return this.#readAll(Kind.locateSubchunks, indices, options, places);
    }
    async retrieveEncodedSubchunk(index, options = {}) {
        const bytes = await this.#read(Kind.readEncoded, index, index.length, integers('index', index), options);
        return bytes.length === 0 ? undefined : bytes;
    }
    async retrieveRegion(start, stop, options = {}) {
        if (start.length !== stop.length)
            throw new InvalidError('start and stop differ in length', { item: 'stop' });
        const shape = stop.map((end, i) => end - start[i]);
        integers('start', start);
        integers('stop', stop);
        const slabs = this.#gridhold.readers === 1 ? [[start, stop]] : slabsOf(start, stop, this.chunkShape, this.#gridhold.readers);
        const read = await Promise.all(slabs.map(([from, to]) => this.#region(from, to, options)));
        return ndArray(read.length === 1 ? read[0] : joined(read), shape, this.type);
    }
    async cost() {
        if (this.#counter === undefined)
            throw new InvalidError('opened without trace', { item: this.path });
        return costOf((await this.#counter.told()).cost);
    }
    close() {
        this.#handle.close();
    }
    [Symbol.dispose]() {
        this.close();
    }
    #subchunk(index, bytes) {
        return ndArray(bytes, [...(this.effectiveSubchunkShape ?? this.chunkShapeAt(index))], this.type);
    }
    async #past(index, { shardCache, signal, reload }) {
        const can = this.#direct !== undefined && shardCache?.gridhold === this.#gridhold && !reload && !this.#handle.closed && !shardCache.handle.closed;
        if (!can)
            return undefined;
        signal?.throwIfAborted();
        const bytes = await this.#direct.read(index, shardCache, await this.#gridhold.guest(), signal);
        await this.#gridhold.guest();
        return bytes;
    }
    #region(start, stop, options) {
        const sub = this.effectiveSubchunkShape;
        const first = sub && start.map((at, axis) => Math.floor(at / sub[axis]));
        return this.#read(Kind.readRegion, first, start.length, [...start, ...stop], options);
    }
    async #readAll(kind, indices, options, apart) {
        const axes = this.shape.length;
        for (const index of indices) {
            if (index.length !== axes)
                throw new InvalidError(`index [${index}] has not ${axes} numbers`, { item: 'indices' });
        }
        integers('indices', indices.flat());
        const groups = new Map();
        for (const [i, index] of indices.entries()) {
            const at = this.#gridhold.readers === 1 ? 0 : await this.#gridhold.reader(this.#shardOf(index));
            groups.set(at, [...(groups.get(at) ?? []), i]);
        }
        if (groups.size === 0)
            groups.set(0, []);
        const out = [];
        await Promise.all([...groups.values()].map(async (members) => {
            const some = members.map((i) => indices[i]);
            const answer = await this.#read(kind, some[0], axes, some.flat(), options, [some.length]);
            apart(answer, some.length).forEach((part, k) => (out[members[k]] = part));
        }));
        return out;
    }
    #shardOf(index) {
        const [chunk, sub] = [this.chunkShape, this.effectiveSubchunkShape];
        if (!this.isSharded || chunk === undefined || sub === undefined)
            return undefined;
        return index.map((at, axis) => Math.floor((at * sub[axis]) / chunk[axis]));
    }
    async #read(kind, subchunk, ndim, longs, options, more = []) {
        const { shardCache, signal, reload } = options;
        if (shardCache !== undefined && shardCache.gridhold !== this.#gridhold) {
            throw new WrongArrayError('the shard cache belongs to an array of another Gridhold', { item: this.path });
        }
        signal?.throwIfAborted();
        const guest = await this.#gridhold.reader(subchunk && this.#shardOf(subchunk));
        const array = await this.#handle.on(guest);
        const cache = shardCache === undefined ? 0 : await shardCache.handle.on(guest);
        const request = packed([array, cache, reload ? RELOAD : 0, ndim, ...more], longs);
        return (await guest.run(kind, request, signal)).bytes;
    }
}
function lengthAt(runs, at) {
    let rest = at;
    for (const [length, count] of runs) {
        if (rest < count)
            return length;
        rest -= count;
    }
    return 0;
}
