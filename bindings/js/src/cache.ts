import { Kind } from './abi.js';
import type { Gridhold } from './gridhold.js';
import { Handle } from './handle.js';
import { integers, packed } from './request.js';

/** How much a cache may hold. */
export interface CacheOptions {
  /** Bytes; default 256 MiB, or less where the instance's memory is small. */
  budget?: number;
  /** Remember that a shard is not there. Default: ask again each time. */
  rememberMissing?: boolean;
}

/** What a cache has done so far. Sizes are bytes. */
export interface CacheStats {
  hits: number;
  misses: number;
  loads: number;
  entries: number;
  bytes: number;
  budget: number;
}

const REMEMBER_MISSING = 1;

/**
 * Shard indexes of one array, each loaded once however many reads wait for
 * it, the least recently used dropped first. With another array it is a
 * WrongArrayError. If the instance dies, the cache begins anew.
 */
export class ShardCache {
  #gridhold: Gridhold;
  #handle: Handle;
  /** @internal Reads that found an index without the guest. */
  hits = 0;
  /** @internal Counts what was dropped by its user. */
  drops = 0;

  /** @internal Made by `GridArray.shardCache`. */
  constructor(gridhold: Gridhold, array: Handle, options: CacheOptions) {
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
  get gridhold(): Gridhold {
    return this.#gridhold;
  }

  /** @internal */
  get handle(): Handle {
    return this.#handle;
  }

  /** How many indexes it holds. */
  async size(): Promise<number> {
    return (await this.stats()).entries;
  }

  async isEmpty(): Promise<boolean> {
    return (await this.size()) === 0;
  }

  async stats(): Promise<CacheStats> {
    const { cost: _, ...stats } = await this.told();
    return { ...stats, hits: stats.hits + this.hits };
  }

  /** @internal What the guest tells of the cache, and of the array's reads if it was opened with a trace. */
  async told(): Promise<CacheStats & { cost?: Record<string, number> }> {
    const all = (await this.#ask(Kind.cacheStats, [], [])).map((bytes) => JSON.parse(new TextDecoder().decode(bytes)) as Numbers);
    return sum(all) as unknown as CacheStats & { cost?: Record<string, number> };
  }

  /** Drops everything. */
  async clear(): Promise<void> {
    this.drops++;
    await this.#ask(Kind.cacheClear, [], []);
  }

  /** Drops the index of one shard, named by its place in the chunk grid. */
  async invalidate(shard: readonly number[]): Promise<void> {
    this.drops++;
    await this.#ask(Kind.cacheInvalidate, [shard.length], integers('shard', shard));
  }

  /** Twice is fine; closing the array closes its caches too. */
  close(): void {
    this.#handle.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Asks wherever the cache is, or makes it to be asked. */
  async #ask(kind: Kind, words: number[], longs: readonly number[]): Promise<Uint8Array[]> {
    const { guests } = this.#handle;
    const asked = guests.length > 0 ? guests : [await this.#gridhold.reader(undefined)];
    return Promise.all(asked.map(async (guest) => {
      const request = packed([await this.#handle.on(guest), ...words], longs);
      return (await guest.run(kind, request)).bytes;
    }));
  }
}

interface Numbers {
  [name: string]: number | Numbers;
}

/** The numbers of several instances together. */
function sum(all: Numbers[]): Numbers {
  const [first, ...others] = all;
  const total = { ...first! };
  for (const other of others) {
    for (const [name, value] of Object.entries(other)) {
      const so = total[name] ?? (typeof value === 'number' ? 0 : {});
      total[name] = typeof value === 'number' ? (so as number) + value : sum([so as Numbers, value]);
    }
  }
  return total;
}
