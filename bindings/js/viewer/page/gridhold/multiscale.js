// Pyramids of OME-Zarr: one image at several resolutions.
import { InvalidError, OutOfRangeError } from './errors.js';
import { GridGroup } from './group.js';
/** The levels of a pyramid, opened by `Gridhold.openMultiscale`. Calls may overlap as they like. */
export class MultiscaleImage {
    #group;
    #arrays;
    #caches;
    /** What the group says of it. */
    info;
    /** @internal */
    constructor(group, info, arrays, budget) {
        this.#group = group;
        this.info = info;
        this.#arrays = arrays;
        this.#caches = arrays.map((array) => array.shardCache(budget === undefined ? {} : { budget }));
    }
    get name() {
        return this.info.name ?? '';
    }
    /** The axes in the order of the arrays'. */
    get axes() {
        return this.info.axes;
    }
    /** How many levels there are. */
    get length() {
        return this.#arrays.length;
    }
    /** The levels, finest first. Each is open, and is closed with the pyramid. */
    get levels() {
        return this.#arrays;
    }
    /** The attributes of the group; of 0.5 what is about the image is under `ome`. */
    get attributes() {
        return this.#group.attributes;
    }
    /** The size of an element of a level along each axis, in the axes' units; 1 where it is not said. Throws OutOfRangeError. */
    scale(level) {
        return this.#level(level).scale ?? this.axes.map(() => 1);
    }
    /** Where the first element of a level lies along each axis; 0 where it is not said. Throws OutOfRangeError. */
    translation(level) {
        return this.#level(level).translation ?? this.axes.map(() => 0);
    }
    /** The coarsest level whose elements are along no axis that is given larger than wanted; 0 where all are. */
    levelFor(size) {
        const fits = (level) => this.axes.every(({ name }, i) => this.scale(level)[i] <= (size[name] ?? Infinity));
        for (let level = this.length - 1; level > 0; level--)
            if (fits(level))
                return level;
        return 0;
    }
    /** The cache of a level's shard indexes. Throws OutOfRangeError. */
    shardCache(level) {
        this.#level(level);
        return this.#caches[level];
    }
    /** The elements of a level from `start` up to and not including `stop`. Errors as of `GridArray.retrieveRegion`. */
    async retrieveRegion(level, start, stop, options = {}) {
        return this.#arrayOf(level).retrieveRegion(start, stop, { ...options, shardCache: this.shardCache(level) });
    }
    /** One subchunk of a level. Errors as of `GridArray.retrieveSubchunk`. */
    async retrieveSubchunk(level, index, options = {}) {
        return this.#arrayOf(level).retrieveSubchunk(index, { ...options, shardCache: this.shardCache(level) });
    }
    /** Closes all levels. Twice is fine. */
    close() {
        for (const array of this.#arrays)
            array.close();
        this.#group.close();
    }
    [Symbol.dispose]() {
        this.close();
    }
    #arrayOf(level) {
        this.#level(level);
        return this.#arrays[level];
    }
    #level(level) {
        const found = this.info.levels[level];
        if (found === undefined)
            throw new OutOfRangeError(`there is no level ${level} of ${this.length}`, { item: 'level' });
        return found;
    }
}
/** @internal */
export async function openMultiscale(gridhold, source, options) {
    const { index = 0, budget, ...opening } = options;
    const group = await gridhold.openGroup(source, opening);
    const arrays = [];
    try {
        const info = group.multiscales[index];
        if (info === undefined)
            throw new InvalidError(`${group.path || '/'}: there is no pyramid ${index}`, { item: group.path });
        const opened = await Promise.allSettled(info.levels.map(({ path }) => group.open(path, { signal: options.signal })));
        for (const each of opened)
            if (each.status === 'fulfilled' && !(each.value instanceof GridGroup))
                arrays.push(each.value);
        for (const [i, each] of opened.entries()) {
            if (each.status === 'rejected')
                throw each.reason;
            if (each.value instanceof GridGroup)
                throw new InvalidError(`${info.levels[i].path}: a level is an array`, { item: info.levels[i].path });
            if (each.value.shape.length !== info.axes.length)
                throw new InvalidError(`${each.value.path}: ${info.axes.length} axes are named`, { item: each.value.path });
        }
        return new MultiscaleImage(group, info, arrays, budget);
    }
    catch (error) {
        for (const array of arrays)
            array.close();
        group.close();
        throw error;
    }
}
