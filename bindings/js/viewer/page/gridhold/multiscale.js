import { InvalidError, OutOfRangeError } from './errors.js';
import { GridGroup } from './group.js';
export class MultiscaleImage {
    #group;
    #arrays;
    #caches;
    info;
    constructor(group, info, arrays, budget) {
        this.#group = group;
        this.info = info;
        this.#arrays = arrays;
        this.#caches = arrays.map((array) => array.shardCache(budget === undefined ? {} : { budget }));
    }
    get name() {
        return this.info.name ?? '';
    }
    get axes() {
        return this.info.axes;
    }
    get length() {
        return this.#arrays.length;
    }
    get levels() {
        return this.#arrays;
    }
    get attributes() {
        return this.#group.attributes;
    }
    scale(level) {
        return this.#level(level).scale ?? this.axes.map(() => 1);
    }
    translation(level) {
        return this.#level(level).translation ?? this.axes.map(() => 0);
    }
    levelFor(size) {
        const fits = (level) => this.axes.every(({ name }, i) => this.scale(level)[i] <= (size[name] ?? Infinity));
        for (let level = this.length - 1; level > 0; level--)
            if (fits(level))
                return level;
        return 0;
    }
    shardCache(level) {
        this.#level(level);
        return this.#caches[level];
    }
    async retrieveRegion(level, start, stop, options = {}) {
        return this.#arrayOf(level).retrieveRegion(start, stop, { ...options, shardCache: this.shardCache(level) });
    }
    async retrieveSubchunk(level, index, options = {}) {
        return this.#arrayOf(level).retrieveSubchunk(index, { ...options, shardCache: this.shardCache(level) });
    }
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
