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
    /** @internal Made by `GridArray.shardCache`. */
    constructor(gridhold, array, options) {
        const { budget = 0, rememberMissing = false } = options;
        const bytes = integers('budget', [budget]);
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
        return stats;
    }
    /** @internal What the guest tells of the cache, and of the array's reads if it was opened with a trace. */
    async told() {
        const bytes = await this.#ask(Kind.cacheStats, [], []);
        return JSON.parse(new TextDecoder().decode(bytes));
    }
    /** Drops everything. */
    async clear() {
        await this.#ask(Kind.cacheClear, [], []);
    }
    /** Drops the index of one shard, named by its place in the chunk grid. */
    async invalidate(shard) {
        await this.#ask(Kind.cacheInvalidate, [shard.length], integers('shard', shard));
    }
    /** Twice is fine; closing the array closes its caches too. */
    close() {
        this.#handle.close();
    }
    [Symbol.dispose]() {
        this.close();
    }
    async #ask(kind, words, longs) {
        const guest = await this.#gridhold.guest();
        return (await guest.run(kind, packed([await this.#handle.on(guest), ...words], longs))).bytes;
    }
}
