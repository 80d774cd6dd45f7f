import { Kind } from './abi.js';
import { Handle } from './handle.js';
import { integers, packed } from './request.js';
const REMEMBER_MISSING = 1;
export class ShardCache {
    #gridhold;
    #handle;
    hits = 0;
    drops = 0;
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
    get gridhold() {
        return this.#gridhold;
    }
    get handle() {
        return this.#handle;
    }
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
    async told() {
        const all = (await this.#ask(Kind.cacheStats, [], [])).map((bytes) => JSON.parse(new TextDecoder().decode(bytes)));
        return sum(all);
    }
    async clear() {
        this.drops++;
        await this.#ask(Kind.cacheClear, [], []);
    }
    async invalidate(shard) {
        this.drops++;
        await this.#ask(Kind.cacheInvalidate, [shard.length], integers('shard', shard));
    }
    close() {
        this.#handle.close();
    }
    [Symbol.dispose]() {
        this.close();
    }
    async #ask(kind, words, longs) {
        const { guests } = this.#handle;
        const asked = guests.length > 0 ? guests : [await this.#gridhold.reader(undefined)];
        return Promise.all(asked.map(async (guest) => {
            const request = packed([await this.#handle.on(guest), ...words], longs);
            return (await guest.run(kind, request)).bytes;
        }));
    }
}
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
