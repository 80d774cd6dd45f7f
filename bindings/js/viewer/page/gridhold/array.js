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
/** An array, opened by `Gridhold.openArray`. Calls may overlap as they like. */
export class GridArray {
    #gridhold;
    #handle;
    /** The description, as `gridhold info --json` prints it. */
    info;
    /** The data type of the elements, with lengths, units and fields. */
    type;
    #direct;
    /** By which the cost is asked; it keeps no index. */
    #counter;
    /** @internal */
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
    /** Of a shard, where the array is sharded; `undefined` where chunks differ. */
    get chunkShape() {
        return this.info.chunk_shape ?? undefined;
    }
    /** The shape of one chunk, named by its place in the chunk grid. Throws OutOfRangeError. */
    chunkShapeAt(chunk) {
        const { chunk_grid_shape: grid, chunk_shape: shape, chunk_edges: edges } = this.info;
        if (chunk.length !== grid.length || !chunk.every((at, axis) => at >= 0 && at < grid[axis])) {
            throw new OutOfRangeError(`chunk [${chunk}] is outside the grid [${grid}]`, { item: this.path });
        }
        return shape === null ? chunk.map((at, axis) => lengthAt(edges[axis], at)) : [...shape];
    }
    /** How many chunks there are along each axis. */
    get chunkGridShape() {
        return this.info.chunk_grid_shape;
    }
    /** As in the metadata; `undefined` where the array is not sharded. */
    get subchunkShape() {
        return this.info.subchunk_shape ?? undefined;
    }
    /**
     * Of what `retrieveSubchunk` gives, in the array's order of axes. Where the
     * array is not sharded it is the chunk's: `undefined` where chunks differ.
     */
    get effectiveSubchunkShape() {
        return this.info.effective_subchunk_shape ?? undefined;
    }
    /** The grid that indices of subchunks lie in. */
    get subchunkGridShape() {
        return this.info.subchunk_grid_shape;
    }
    get isSharded() {
        return this.info.is_sharded;
    }
    /** The name of the data type, `"uint16"`. */
    get dtype() {
        return this.type.name;
    }
    get attributes() {
        return this.info.attributes ?? {};
    }
    /** Makes a cache of this array's shard indexes. */
    shardCache(options = {}) {
        return new ShardCache(this.#gridhold, this.#handle, options);
    }
    /**
     * One subchunk, decoded, at its full shape also at the array's edge; what
     * is not stored is the fill value. Rejects with OutOfRangeError outside the
     * grid, CorruptError, StaleError, WrongArrayError, LimitError, IOError.
     */
    async retrieveSubchunk(index, options = {}) {
        integers('index', index);
        const bytes = (await this.#past(index, options)) ?? (await this.#read(Kind.readSubchunk, index, index.length, index, options));
        return this.#subchunk(index, bytes);
    }
    /**
     * Several subchunks, in the order asked for: what lies in one shard is read
     * together. Errors as of `retrieveSubchunk`; the first one ends them all.
     */
    async retrieveSubchunks(indices, options = {}) {
        const all = await this.#readAll(Kind.readSubchunks, indices, options, parts);
        return all.map((part, i) => this.#subchunk(indices[i], part));
    }
    /**
     * Where subchunks are stored, `undefined` for one that is not. Of an array
     * that is not sharded it tells where a chunk would be. Errors as of
     * `retrieveEncodedSubchunk`.
     */
    async locateSubchunks(indices, options = {}) {
        return this.#readAll(Kind.locateSubchunks, indices, options, places);
    }
    /** One subchunk as it is stored; `undefined` where there is none. Errors as of `retrieveSubchunk`. */
    async retrieveEncodedSubchunk(index, options = {}) {
        const bytes = await this.#read(Kind.readEncoded, index, index.length, integers('index', index), options);
        return bytes.length === 0 ? undefined : bytes; // a stored subchunk of no bytes is an error
    }
    /** The elements from `start` up to and not including `stop`. Errors as of `retrieveSubchunk`. */
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
    /**
     * What reads of the array cost so far, its opening included. Rejects with
     * InvalidError where it was opened without `trace`. If the instance dies,
     * the counts begin anew.
     */
    async cost() {
        if (this.#counter === undefined)
            throw new InvalidError('opened without trace', { item: this.path });
        return costOf((await this.#counter.told()).cost);
    }
    /** Closes the array and its caches. Later calls reject with ClosedError. Twice is fine. */
    close() {
        this.#handle.close();
    }
    [Symbol.dispose]() {
        this.close();
    }
    #subchunk(index, bytes) {
        return ndArray(bytes, [...(this.effectiveSubchunkShape ?? this.chunkShapeAt(index))], this.type);
    }
    /** A subchunk read past the guest, where that can be; see direct.ts. */
    async #past(index, { shardCache, signal, reload }) {
        const can = this.#direct !== undefined && shardCache?.gridhold === this.#gridhold && !reload && !this.#handle.closed && !shardCache.handle.closed;
        if (!can)
            return undefined;
        signal?.throwIfAborted();
        const bytes = await this.#direct.read(index, shardCache, await this.#gridhold.guest(), signal);
        await this.#gridhold.guest(); // ClosedError, where it was closed meanwhile
        return bytes;
    }
    #region(start, stop, options) {
        const sub = this.effectiveSubchunkShape;
        const first = sub && start.map((at, axis) => Math.floor(at / sub[axis]));
        return this.#read(Kind.readRegion, first, start.length, [...start, ...stop], options);
    }
    /** Asks about many subchunks, those of one instance together, and takes the answers apart. */
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
    /** The shard that a subchunk lies in; `undefined` where there is no index to share. */
    #shardOf(index) {
        const [chunk, sub] = [this.chunkShape, this.effectiveSubchunkShape];
        if (!this.isSharded || chunk === undefined || sub === undefined)
            return undefined;
        return index.map((at, axis) => Math.floor((at * sub[axis]) / chunk[axis]));
    }
    /** `subchunk` is one of those that are read: it says on which instance. */
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
/** The length of chunk `at` along an axis. */
function lengthAt(runs, at) {
    let rest = at;
    for (const [length, count] of runs) {
        if (rest < count)
            return length;
        rest -= count;
    }
    return 0; // not in the grid
}
