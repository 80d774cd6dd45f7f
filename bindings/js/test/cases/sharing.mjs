// Reads that share a cache, a load or a thread.
import { MemoryStore, shardedArray, subchunk, wait } from '../arrays.mjs';
import { equal, ok, rejects } from '../check.mjs';

export const sharing = {
  async '32 reads at once on a cold cache load each index once'({ load }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray({ grid: [2, 1] }), { before: () => wait(2) });
    const arr = await gh.openArray(store);
    const cache = arr.shardCache();
    equal(await cache.isEmpty(), true);
    const read = () => Promise.all(Array.from({ length: 32 }, (_, k) => {
      const index = [k % 8, Math.floor(k / 8)];
      return arr.retrieveSubchunk(index, { shardCache: cache }).then(({ data }) => equal(data, subchunk(...index)));
    }));
    store.requests.length = 0;
    await read();
    equal(store.indexLoads(), 2, 'cold');
    store.requests.length = 0;
    await read();
    equal([store.indexLoads(), store.requests.length], [0, 32], 'warm');
    const stats = await cache.stats();
    equal([stats.loads, stats.entries, await cache.size()], [2, 2, 2]);
    ok(stats.bytes > 0 && stats.bytes <= stats.budget, 'bytes within the budget');
    await cache.invalidate([0, 0]);
    equal(await cache.size(), 1, 'after invalidate');
    await cache.clear();
    equal(await cache.isEmpty(), true, 'after clear');
    store.requests.length = 0;
    await arr.retrieveSubchunk([0, 0]);
    await arr.retrieveSubchunk([0, 0]);
    equal(store.indexLoads(), 2, 'without a cache each read loads');
  },

  async '16 cold shards on a slow store take under 3 latencies'({ load }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray({ grid: [4, 4], per: [2, 2] }));
    const arr = await gh.openArray(store);
    const cache = arr.shardCache();
    let took = Infinity;
    let latency = 10;
    while (took >= 3 * latency && latency < 2000) { // one that even a busy machine is quick against
      latency *= 2;
      await cache.clear();
      store.before = () => wait(latency);
      const start = performance.now();
      await Promise.all(Array.from({ length: 16 }, (_, k) =>
        arr.retrieveSubchunk([2 * (k % 4), 2 * Math.floor(k / 4)], { shardCache: cache })));
      took = performance.now() - start;
    }
    ok(took < 3 * latency, `took ${took} ms`);
  },

  async 'a warm read does not wait for another load'({ load }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray({ grid: [2, 1] }));
    const arr = await gh.openArray(store);
    const shardCache = arr.shardCache();
    await arr.retrieveSubchunk([0, 0], { shardCache });
    let open;
    const gate = new Promise((resolve) => (open = resolve));
    store.before = (key) => (key === 'c/1/0' ? gate : undefined);
    const cold = arr.retrieveSubchunk([4, 0], { shardCache });
    equal((await arr.retrieveSubchunk([1, 1], { shardCache })).data, subchunk(1, 1), 'warm');
    open();
    equal((await cold).data, subchunk(4, 0), 'cold');
  },

  async 'an abort ends one read and no other'({ load }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray());
    const arr = await gh.openArray(store);
    const shardCache = arr.shardCache();
    let open;
    const gate = new Promise((resolve) => (open = resolve));
    let seen, came;
    const asked = new Promise((resolve) => (came = resolve));
    store.before = (key, ranges, signal) => { seen = signal; came(); return gate; };
    const controller = new AbortController();
    const first = arr.retrieveSubchunk([0, 0], { shardCache, signal: controller.signal });
    const second = arr.retrieveSubchunk([0, 1], { shardCache });
    await asked;
    await wait(5); // the other joins
    const reason = new Error('changed my mind');
    controller.abort(reason);
    equal((await rejects(first, Error)) === reason, true, 'rejects with the reason');
    equal(seen.aborted, false, 'the load goes on for the other');
    open();
    equal((await second).data, subchunk(0, 1), 'the other');
    equal((await arr.retrieveSubchunk([0, 0], { shardCache })).data, subchunk(0, 0), 'the next call');
    await rejects(arr.retrieveSubchunk([0, 0], { signal: AbortSignal.abort() }), DOMException, 'aborted before');
  },

  async 'a load ends with its last waiter'({ load }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray());
    const arr = await gh.openArray(store);
    const shardCache = arr.shardCache();
    let told, came;
    const aborted = new Promise((resolve) => (told = resolve));
    const asked = new Promise((resolve) => (came = resolve));
    store.before = (key, ranges, signal) => {
      signal.addEventListener('abort', told);
      came();
      return new Promise(() => {});
    };
    const controller = new AbortController();
    const reads = [0, 1].map((j) => arr.retrieveSubchunk([0, j], { shardCache, signal: controller.signal }));
    await asked;
    await wait(5); // the other joins
    controller.abort();
    for (const read of reads) equal((await rejects(read, DOMException)).name, 'AbortError');
    await aborted;
    store.before = () => {};
    equal(await shardCache.isEmpty(), true, 'nothing kept');
    equal((await arr.retrieveSubchunk([0, 0], { shardCache })).data, subchunk(0, 0), 'the next call');
  },

  async 'a cache of another array is refused'({ load, lib }) {
    const gh = await load();
    const other = await load();
    const a = await gh.openArray(new MemoryStore(await shardedArray()));
    const b = await gh.openArray(new MemoryStore(await shardedArray()));
    const c = await other.openArray(new MemoryStore(await shardedArray()));
    const shardCache = a.shardCache();
    await a.retrieveSubchunk([0, 0], { shardCache });
    await rejects(b.retrieveSubchunk([0, 0], { shardCache }), lib.WrongArrayError);
    await rejects(c.retrieveSubchunk([0, 0], { shardCache }), lib.WrongArrayError, 'of another Gridhold');
  },

  async 'a rewritten object is noticed by its version'({ load }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray());
    const arr = await gh.openArray(store);
    const shardCache = arr.shardCache();
    await arr.retrieveSubchunk([0, 0], { shardCache });
    const value = (r, c) => r * 10 + c;
    store.objects.set('c/0/0', (await shardedArray({ value, pad: 40 })).get('c/0/0'));
    store.version++;
    equal((await arr.retrieveSubchunk([1, 1], { shardCache })).data, subchunk(1, 1, { value }), 'new bytes');
  },

  async 'a held thread is let go: timers run among reads'({ load }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray());
    const arr = await gh.openArray(store);
    const shardCache = arr.shardCache();
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    const end = performance.now() + 30_000;
    const reader = async () => {
      while (ticks < 4 && performance.now() < end) await arr.retrieveSubchunk([0, 0], { shardCache });
    };
    await Promise.all(Array.from({ length: 8 }, reader));
    clearInterval(timer);
    ok(ticks >= 4, `${ticks} ticks`);
  },

  async 'a storm of reads, aborts and failures'({ load, lib }) {
    const gh = await load();
    const random = randomNumbers(17);
    const store = new MemoryStore(await shardedArray({ grid: [4, 4] }), {
      before: async () => {
        if (random(3) > 0) await wait(random(3));
        if (random(10) === 0) throw new Error('bad luck');
      },
    });
    let tries = 0;
    let arr;
    while (arr === undefined && tries++ < 50) arr = await gh.openArray(store).catch(() => undefined);
    const shardCache = arr.shardCache({ budget: 2000 }); // some indexes at a time
    const ends = { right: 0, aborted: 0, failed: 0 };
    const reader = async () => {
      for (let k = 0; k < 60; k++) {
        const index = [random(16), random(16)];
        const controller = new AbortController();
        const { signal } = controller;
        if (random(4) === 0) setTimeout(() => controller.abort(), random(4));
        try {
          const { data } = await arr.retrieveSubchunk(index, random(4) === 0 ? { signal } : { signal, shardCache });
          equal(data, subchunk(...index), String(index));
          ends.right++;
        } catch (error) {
          if (error === signal.reason) ends.aborted++;
          else if (error instanceof lib.IOError) ends.failed++;
          else throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: 32 }, reader));
    ok(ends.right > 500 && ends.aborted > 50 && ends.failed > 50, JSON.stringify(ends));
    store.before = () => {};
    // A load that an aborted reader began may still be on its way to its bad
    // luck, and takes along who joins it. The next one is a new load.
    const calm = () => arr.retrieveSubchunk([9, 9], { shardCache });
    equal((await calm().catch(calm)).data, subchunk(9, 9), 'after the storm');
  },
};

/** The same numbers in each run: `random(n)` is from 0 up to and not including n. */
function randomNumbers(seed) {
  return (n) => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return (seed >>> 8) % n;
  };
}
