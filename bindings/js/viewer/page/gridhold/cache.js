import { Kind } from './abi.js';
import { Handle } from './handle.js';
import { integers, packed } from './request.js';
const REMEMBER_MISSING = 1;
/**
 * Shard indexes of one array, each loaded once however many reads wait for
 * it, the least recently used dropped first. With another array it is a
 * WrongArrayError. If the instance dies, the cache begins anew.
 */
export class ShardCache {
    #gridhold;
    #handle;
    /** @internal Reads that found an index without the guest. */
    hits = 0;
    /** @internal Counts what was dropped by its user. */
    drops = 0;
    /** @internal Made by `GridArray.shardCache`. */
    constructor(gridhold, array, options) {
        const { budget = 0, rememberMissing = false } = options;
        const bytes = integers('budget', [Math.ceil(budget / gridhold.readers)]);
        this.#gridhold = gridhold;
        this.#handle = new Handle('shard cache', async (guest) => {
            const request = packed([await array.on(guest), rememberMissing ? REMEMBER_MISSING : 0], bytes);
            return (await guest.run(Kind.cacheNew, request)).object;
        });
        this.#handle.ownedBy(this);
    }
    /** @internal */
    get gridhold() {
        return this.#gridhold;
    }
    /** @internal */
    get handle() {
        return this.#handle;
    }
    /** How many indexes it holds. */
    async size() {
        return (await this.stats()).entries;
    }
    async isEmpty() {
        return (await this.size()) === 0;
    }
    async stats() {
        const { cost: _, ...stats } = await this.told();
        return { ...stats, hits: stats.hits + this.hits };
    }
    /** @internal What the guest tells of the cache, and of the array's reads if it was opened with a trace. */
    async told() {
        const all = (await this.#ask(Kind.cacheStats, [], [])).map((bytes) => JSON.parse(new TextDecoder().decode(bytes)));
        return sum(all);
    }
    /** Drops everything. */
    async clear() {
        this.drops++;
        await this.#ask(Kind.cacheClear, [], []);
    }
    /** Drops the index of one shard, named by its place in the chunk grid. */
    async invalidate(shard) {
        this.drops++;
        await this.#ask(Kind.cacheInvalidate, [shard.length], integers('shard', shard));
    }
    /** Twice is fine; closing the array closes its caches too. */
    close() {
        this.#handle.close();
    }
    [Symbol.dispose]() {
        this.close();
    }
    /** Asks wherever the cache is, or makes it to be asked. */
    async #ask(kind, words, longs) {
        const { guests } = this.#handle;
        const asked = guests.length > 0 ? guests : [await this.#gridhold.reader(undefined)];
        return Promise.all(asked.map(async (guest) => {
            const request = packed([await this.#handle.on(guest), ...words], longs);
            return (await guest.run(kind, request)).bytes;
        }));
    }
}
/** The numbers of several instances together. */
function sum(all) {
    const [first, ...others] = all;
    const total = { ...first };
    for (const other of others) {
        for (const [name, value] of Object.entries(other)) {
            const so = total[name] ?? (typeof value === 'number' ? 0 : {});
            total[name] = typeof value === 'number' ? so + value : sum([so, value]);
        }
    }
    return total;
}
