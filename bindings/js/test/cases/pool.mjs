// Instances in workers.
import { MemoryStore, shardedArray, subchunk, wait } from '../arrays.mjs';
import { equal, ok, rejects, sha256 } from '../check.mjs';

const MiB = 1024 * 1024;
const pool = 3;

export const pools = {
  async 'pool: what other libraries wrote, by its sha256'({ load, fixtures, manifest }) {
    const gh = await load({ pool });
    const some = manifest.arrays.filter((a, i) => a.node_type !== 'group' && i % 6 === 0);
    for (const { path, shape, sha256: sum } of some) {
      const arr = await gh.openArray(fixtures, { path });
      equal(await sha256((await arr.retrieveRegion(shape.map(() => 0), shape)).bytes), sum, path);
      arr.close();
    }
    ok(some.length > 30, `${some.length} arrays`);
  },

  async 'pool: each index is loaded once, and reads are as without one'({ load }) {
    const plain = await load();
    const gh = await load({ pool });
    const objects = await shardedArray({ grid: [4, 4], skip: (i, j) => i === 2 && j === 1 });
    const store = new MemoryStore(objects, { before: () => wait(1) });
    const arr = await gh.openArray(store);
    const same = await plain.openArray(new MemoryStore(objects));
    const shardCache = arr.shardCache();
    equal(await shardCache.size(), 0);
    store.requests.length = 0;
    const all = Array.from({ length: 256 }, (_, k) => [k >> 4, k % 16]);
    await Promise.all(all.map(async (index) => equal((await arr.retrieveSubchunk(index, { shardCache })), await same.retrieveSubchunk(index), `${index}`)));
    equal(store.indexLoads(), 16, 'cold');
    equal((await shardCache.stats()).loads, 16);
    await shardCache.invalidate([0, 0]);
    equal(await shardCache.size(), 15);
    const batch = await arr.retrieveSubchunks(all, { shardCache });
    equal(batch, await same.retrieveSubchunks(all));
    const places = await arr.locateSubchunks(all, { shardCache });
    equal(places.map((place) => place?.offset), (await same.locateSubchunks(all)).map((place) => place?.offset));
    for (const [start, stop] of [[[0, 0], [64, 64]], [[3, 5], [61, 62]], [[7, 0], [8, 64]], [[5, 5], [5, 9]], [[9, 9], [10, 10]]]) {
      equal(await arr.retrieveRegion(start, stop, { shardCache }), await same.retrieveRegion(start, stop), `${start} to ${stop}`);
    }
    equal((await arr.retrieveEncodedSubchunk([15, 15], { shardCache })).length, 32);
    await shardCache.invalidate([0, 0]);
    ok((await shardCache.stats()).loads <= 16 * pool, 'a region is read by all, each with indexes of its own');
    await shardCache.clear();
    equal(await shardCache.isEmpty(), true);
    equal(await arr.retrieveSubchunks([]), []);
  },

  async 'pool: aborts, failures of a store, what is out of range'({ load, lib }) {
    const gh = await load({ pool });
    const store = new MemoryStore(await shardedArray({ grid: [2, 2] }));
    const arr = await gh.openArray(store);
    const shardCache = arr.shardCache();
    await rejects(arr.retrieveSubchunk([9, 0], { shardCache }), lib.OutOfRangeError);
    await arr.retrieveSubchunk([0, 0], { shardCache });
    const refused = new Error('the disk is on fire');
    store.before = () => { throw refused; };
    const error = await rejects(arr.retrieveSubchunk([4, 4], { shardCache }), lib.IOError);
    ok(error.cause === refused && error.message.includes('on fire'), 'the cause is what the store threw');
    let told, came;
    const left = new Promise((resolve) => (told = resolve));
    const asked = new Promise((resolve) => (came = resolve));
    store.before = (key, ranges, signal) => {
      signal.addEventListener('abort', told);
      came();
      return new Promise(() => {});
    };
    const controller = new AbortController();
    const reason = new Error('changed my mind');
    const read = arr.retrieveSubchunk([4, 4], { shardCache, signal: controller.signal });
    await asked;
    controller.abort(reason);
    ok((await rejects(read, Error)) === reason, 'the reason');
    await left;
    store.before = () => {};
    equal((await arr.retrieveSubchunk([4, 4], { shardCache })).data, subchunk(4, 4), 'the next call');
    const open = arr.retrieveSubchunk([0, 1]);
    arr.close();
    await open.catch(() => {});
    await rejects(arr.retrieveSubchunk([0, 0]), lib.ClosedError);
  },

  async 'pool: over HTTP, by a fetch of the worker and by one of the caller'({ load, serve }) {
    for (const own of [undefined, (url, init) => fetch(url, init)]) {
      const gh = await load({ pool: 2, ...(own && { fetch: own }) });
      const server = await serve(await shardedArray({ grid: [2, 2] }));
      const arr = await gh.openArray(server.url);
      const shardCache = arr.shardCache();
      const all = Array.from({ length: 64 }, (_, k) => [k >> 3, k % 8]);
      await Promise.all(all.map(async (index) => equal((await arr.retrieveSubchunk(index, { shardCache })).data, subchunk(...index))));
      const { requests } = await server.taken();
      ok(requests.every(({ method }) => method === 'GET'), 'no preflight');
      ok(requests.length <= 64 + 4 * 2 + 3, `${requests.length} requests`);
    }
  },

  async 'pool: an instance that dies is replaced, alone'({ load, lib }) {
    const wasm = await lib.Gridhold.compile({ memory: 32 * MiB });
    const gh = await load({ wasm, memory: 512 * MiB, pool: 2 });
    const small = await gh.openArray(new MemoryStore(await shardedArray({ grid: [3, 3] })));
    const large = await gh.openArray(new MemoryStore(await shardedArray({ per: [1, 1], sub: [8192, 4096], skip: () => true })));
    const shardCache = small.shardCache();
    const read = async () => {
      for (const index of [[0, 0], [4, 4], [8, 8], [0, 8], [8, 0]]) equal((await small.retrieveSubchunk(index, { shardCache })).data, subchunk(...index));
    };
    await read();
    const { message } = await rejects(large.retrieveSubchunk([0, 0]), lib.InternalError);
    ok(/memory/.test(message), message);
    await read();
    await rejects(large.retrieveSubchunk([0, 0]), lib.InternalError);
    await read();
  },

  async 'pool: closing ends what runs'({ load, lib }) {
    const gh = await load({ pool: 1 });
    const store = new MemoryStore(await shardedArray());
    const arr = await gh.openArray(store);
    await arr.retrieveSubchunk([0, 0]);
    let came;
    const asked = new Promise((resolve) => (came = resolve));
    store.before = () => (came(), new Promise(() => {}));
    const running = arr.retrieveSubchunk([0, 0]);
    await asked;
    gh.close();
    await rejects(running, lib.ClosedError);
    await rejects((async () => arr.retrieveSubchunk([0, 0]))(), lib.ClosedError);
    equal(gh.memorySize, 0);
    await rejects(load({ pool: -1 }), lib.InvalidError);
    await rejects(load({ pool: 1, codecs: { gzip: () => {} } }), lib.InvalidError, 'functions cannot be sent');
    await rejects(load({ pool: 1, wasm: new Uint8Array(8) }), lib.CorruptError);
  },

  async 'pool: codecs of a module are lent to workers'({ load, fixtures, manifest, codecModule }) {
    const gh = await load({ pool: 1, codecs: codecModule });
    const entry = manifest.arrays.find((a) => /zstd/.test(JSON.stringify(a.codecs)) && a.sha256);
    const arr = await gh.openArray(fixtures, { path: entry.path });
    equal(await sha256((await arr.retrieveRegion(entry.shape.map(() => 0), entry.shape)).bytes), entry.sha256);
    await (await load({ codecs: codecModule })).openArray(fixtures, { path: entry.path });
  },
};
