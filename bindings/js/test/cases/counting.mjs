// What many reads cost: requests, preflights, memory.
import { MemoryStore, shardedArray, subchunk, wait } from '../arrays.mjs';
import { equal, ok } from '../check.mjs';
import { field, readAll } from '../field.mjs';

const MiB = 1024 * 1024;

export const counting = {
  async 'HTTP: 256 subchunks in 16 shards take 272 requests, and no preflight'({ load, serve, store }) {
    const gh = await load();
    const { data: [metadata] } = await store('requests').read('zarr.json', [{ offset: 0 }]);
    const server = await serve(field(metadata));
    const array = await gh.openArray(server.url);
    await server.taken();
    // A browser opens 6 connections to a server that speaks HTTP/1.1.
    const want = globalThis.location === undefined ? 16 : 6;
    let shardCache, atOnce;
    for (let delay = 25; !(atOnce >= want) && delay < 2000; delay *= 3) { // one within which even a busy machine asks for all
      await server.set({ delay });
      shardCache = array.shardCache();
      await readAll(array, { shardCache }, 16, equal);
      const { requests, most } = await server.taken();
      equal(requests.filter(({ method }) => method !== 'GET').length, 0, 'preflights and HEADs');
      ok(requests.length <= 272, `${requests.length} requests`);
      atOnce = most;
    }
    ok(atOnce >= want, `${atOnce} at once`);
    await server.set({ delay: 0 });
    await readAll(array, { shardCache }, 16, equal);
    equal((await server.taken()).requests.length, 256, 'again');
  },

  async 'memory does not grow by 3 times 1000 chunks'({ load }) {
    const gh = await load({ memory: 96 * MiB });
    // 1000 chunks of 64 KiB in 10 shards.
    const store = new MemoryStore(await shardedArray({ grid: [2, 5], per: [10, 10], sub: [128, 256], value: (r, c) => r ^ c }));
    const arr = await gh.openArray(store);
    const shardCache = arr.shardCache();
    const round = async () => {
      for (let k = 0; k < 1000; k += 8) {
        const reads = Array.from({ length: Math.min(8, 1000 - k) }, (_, i) => [Math.floor((k + i) / 50), (k + i) % 50]);
        await Promise.all(reads.map((index) => arr.retrieveSubchunk(index, { shardCache })));
        store.requests.length = 0;
      }
      return gh.memorySize;
    };
    const first = await round();
    await round();
    const third = await round();
    ok(third <= first + 8 * MiB, `after the first round ${first}, after the third ${third}`);
    const index = [13, 29];
    equal((await arr.retrieveSubchunk(index)).data, subchunk(...index, { sub: [128, 256], value: (r, c) => r ^ c }));
    arr.close();
    gh.close();
    equal(gh.memorySize, 0, 'closing lets go of the instance');
  },

  async '64 reads at once, from handlers and from within promises'({ load }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray({ grid: [2, 2] }), { before: () => wait(1) });
    const arr = await gh.openArray(store);
    const shardCache = arr.shardCache();
    const target = new EventTarget();
    const results = [];
    target.addEventListener('ask', ({ detail: index }) => results.push(arr.retrieveSubchunk(index, { shardCache }).then(async (got) => {
      // The next one, asked for from within.
      const other = [index[1], index[0]];
      equal((await arr.retrieveSubchunk(other, { shardCache })).data, subchunk(...other), `${other}`);
      equal(got.data, subchunk(...index), `${index}`);
    })));
    for (let k = 0; k < 64; k++) target.dispatchEvent(Object.assign(new Event('ask'), { detail: [k >> 3, k % 8] }));
    equal(results.length, 64);
    await Promise.all(results);
  },
};
