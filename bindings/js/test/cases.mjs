// What the binding has to do, wherever it runs: Node now, pages too. A case
// gets `env`: the package (`lib`), `load(options)`, the store of the fixtures
// and their manifest, and `serve(objects)`, an HTTP server that counts. What
// was loaded and served is closed when the case is over.

import { MemoryStore, crc32c, shardedArray, subchunk, wait } from './arrays.mjs';
import { equal, ok, rejects, sha256 } from './check.mjs';

const MiB = 1024 * 1024;

export const cases = {
  async 'an array says what it is'({ load, lib }) {
    const gh = await load();
    const arr = await gh.openArray(new MemoryStore(await shardedArray({ grid: [2, 1] })));
    equal(arr.shape, [32, 16]);
    equal(arr.chunkShape, [16, 16]);
    equal(arr.chunkGridShape, [2, 1]);
    equal(arr.subchunkShape, [4, 4]);
    equal(arr.effectiveSubchunkShape, [4, 4]);
    equal(arr.subchunkGridShape, [8, 4]);
    equal(arr.isSharded, true);
    equal(arr.dtype, 'uint16');
    equal(arr.attributes, { made: 'here' });
    equal(arr.info.fill_hex, '0700');
    ok(arr instanceof lib.GridArray, 'open gives a GridArray');
  },

  async 'subchunks, encoded subchunks and regions'({ load }) {
    const gh = await load();
    const arr = await gh.openArray(new MemoryStore(await shardedArray({ skip: (i, j) => i === 1 && j === 2 })));
    const got = await arr.retrieveSubchunk([2, 3]);
    equal(got, { data: subchunk(2, 3), shape: [4, 4], dtype: 'uint16' });
    equal((await arr.retrieveSubchunk([1, 2])).data, new Uint16Array(16).fill(7), 'empty subchunk');
    equal(await arr.retrieveEncodedSubchunk([2, 3]), new Uint8Array(subchunk(2, 3).buffer));
    equal(await arr.retrieveEncodedSubchunk([1, 2]), undefined, 'empty subchunk, encoded');
    const region = await arr.retrieveRegion([3, 2], [5, 4]);
    equal(region, { data: Uint16Array.of(3002, 3003, 4002, 4003), shape: [2, 2], dtype: 'uint16' });
    equal((await arr.retrieveRegion([3, 2], [3, 9])).data.length, 0, 'region of no rows');
  },

  async 'edge subchunk and absent shard'({ load }) {
    const gh = await load();
    const objects = await shardedArray({ grid: [2, 1], shape: [30, 14], skip: (i) => i < 4 });
    const arr = await gh.openArray(new MemoryStore(objects));
    equal(objects.has('c/0/0'), false, 'the first shard is there');
    equal((await arr.retrieveSubchunk([0, 0])).data, new Uint16Array(16).fill(7), 'absent shard');
    const edge = await arr.retrieveSubchunk([7, 3]);
    equal(edge, { data: subchunk(7, 3), shape: [4, 4], dtype: 'uint16' }, 'edge subchunk');
    equal((await arr.retrieveRegion([28, 12], [30, 14])).data, Uint16Array.of(28012, 28013, 29012, 29013));
  },

  async 'an index outside the grid is an error'({ load, lib }) {
    const gh = await load();
    const arr = await gh.openArray(new MemoryStore(await shardedArray()));
    for (const index of [[4, 0], [0, 4], [-1, 0], [Number.MAX_SAFE_INTEGER, 0]]) {
      const error = await rejects(arr.retrieveSubchunk(index), lib.OutOfRangeError, String(index));
      equal([error.code, error.name], ['OutOfRange', 'OutOfRangeError']);
    }
    await rejects(arr.retrieveRegion([0, 0], [17, 1]), lib.OutOfRangeError, 'region');
    await rejects(arr.retrieveSubchunk([0]), lib.GridholdError, 'too few numbers');
    await rejects(arr.retrieveSubchunk([0.5, 0]), lib.InvalidError, 'half an index');
    await rejects(arr.retrieveSubchunk([2 ** 60, 0]), lib.InvalidError, 'beyond 2^53');
    equal((await arr.retrieveSubchunk([0, 0])).data, subchunk(0, 0), 'the next call');
  },

  async 'nothing there, something else there, damaged'({ load, lib }) {
    const gh = await load();
    const missing = await rejects(gh.openArray(new MemoryStore(new Map())), lib.NotFoundError);
    ok(missing instanceof lib.GridholdError && missing instanceof Error, 'one family of errors');
    const group = new Map([['zarr.json', new TextEncoder().encode('{"zarr_format":3,"node_type":"group","attributes":{"a":1}}')]]);
    await rejects(gh.openArray(new MemoryStore(group)), lib.GridholdError, 'a group as an array');
    const opened = await gh.open(new MemoryStore(group));
    equal([opened.info.kind, opened.attributes], ['group', { a: 1 }]);
    await rejects(gh.openArray(new MemoryStore(new Map([['zarr.json', new Uint8Array(9)]]))), lib.CorruptError);
    const cut = await shardedArray();
    cut.set('c/0/0', cut.get('c/0/0').slice(0, -1));
    const arr = await gh.openArray(new MemoryStore(cut));
    await rejects(arr.retrieveSubchunk([0, 0]), lib.CorruptError, 'cut shard');
  },

  async 'list and verify'({ load }) {
    const gh = await load();
    const objects = new Map([['zarr.json', new TextEncoder().encode('{"zarr_format":3,"node_type":"group"}')]]);
    for (const [key, bytes] of await shardedArray()) objects.set(`deep/a/${key}`, bytes);
    objects.set('deep/zarr.json', objects.get('zarr.json'));
    const store = new MemoryStore(objects);
    const entries = await gh.list(store);
    equal(entries.map(({ path, kind }) => [path, kind]), [['deep', 'group'], ['deep/a', 'array']]);
    equal((await gh.verify(store, { path: 'deep/a' })).damaged, []);
    const shard = objects.get('deep/a/c/0/0');
    shard[shard.length - 5] ^= 1;
    const { damaged } = await gh.verify(store, { path: 'deep/a' });
    ok(damaged.length > 0 && damaged[0].item.includes('c/0/0'), `damage is found: ${JSON.stringify(damaged)}`);
  },

  async 'peer-made arrays decode to the stated sha256'({ load, fixtures, manifest }) {
    const gh = await load();
    const wanted = pick(manifest.arrays.filter((a) => a.sha256 && a.data_type), 40);
    ok(wanted.length >= 20, `only ${wanted.length} fixtures`);
    for (const { name, path, shape, sha256: sum } of wanted) {
      const arr = await gh.openArray(fixtures, { path });
      equal(arr.shape, shape, name);
      const { data } = await arr.retrieveRegion(shape.map(() => 0), shape);
      equal(await sha256(data), sum, name);
    }
  },

  async 'peer-made subchunks: bytes as stored'({ load, fixtures, manifest }) {
    const gh = await load();
    const wanted = pick(manifest.arrays.filter((a) => a.shards?.some?.length > 0 && a.exclusively_sharded), 20);
    for (const { name, path, shards } of wanted) {
      const arr = await gh.openArray(fixtures, { path });
      const cache = arr.shardCache();
      for (const { subchunk: index, sha256_encoded: sum } of shards.some) {
        const encoded = await arr.retrieveEncodedSubchunk(index, { shardCache: cache });
        equal(encoded && (await sha256(encoded)), sum, `${name} ${index}`);
      }
    }
  },

  async 'each data type has its typed array'({ load, fixtures, manifest }) {
    const gh = await load();
    const half = globalThis.Float16Array ?? Uint16Array;
    const types = {
      bool: Uint8Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, int32: Int32Array,
      uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, float16: half, float32: Float32Array,
      float64: Float64Array, complex64: Float32Array, complex128: Float64Array,
    };
    for (const [dtype, type] of Object.entries(types)) {
      const { path, shape } = manifest.arrays.find((a) => a.data_type === dtype);
      const arr = await gh.openArray(fixtures, { path });
      const { data } = await arr.retrieveRegion(shape.map(() => 0), shape);
      equal([arr.dtype, data.constructor.name], [dtype, type.name]);
      const elements = shape.reduce((n, length) => n * length, dtype.startsWith('complex') ? 2 : 1);
      equal(data.length, elements, dtype);
    }
  },

  async 'arrays of no dimensions and of no elements'({ load, fixtures, manifest }) {
    const gh = await load();
    for (const { path, data_type: dtype, sha256: sum } of manifest.arrays.filter((a) => a.shape?.length === 0)) {
      const arr = await gh.openArray(fixtures, { path });
      const one = await arr.retrieveSubchunk([]);
      equal([one.shape, one.dtype, await sha256(one.data)], [[], dtype, sum], path);
      equal((await arr.retrieveRegion([], [])).data, one.data, path);
    }
    const { path, shape } = manifest.arrays.find((a) => a.shape?.includes(0));
    const arr = await gh.openArray(fixtures, { path });
    equal((await arr.retrieveRegion(shape.map(() => 0), shape)).data.length, 0, path);
    equal(arr.subchunkGridShape.includes(0), true, 'no subchunks');
  },

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

  async '16 cold shards on a store of 20 ms take under 3 latencies'({ load }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray({ grid: [4, 4], per: [2, 2] }));
    const arr = await gh.openArray(store);
    const cache = arr.shardCache();
    let took = Infinity;
    for (let attempt = 0; attempt < 3 && took >= 60; attempt++) {
      await cache.clear();
      store.before = () => wait(20);
      const start = performance.now();
      await Promise.all(Array.from({ length: 16 }, (_, k) =>
        arr.retrieveSubchunk([2 * (k % 4), 2 * Math.floor(k / 4)], { shardCache: cache })));
      took = performance.now() - start;
    }
    ok(took < 60, `took ${took} ms`);
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

  async 'a failed load is not kept'({ load, lib }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray());
    const arr = await gh.openArray(store);
    const shardCache = arr.shardCache();
    const refused = new Error('the disk is on fire');
    store.before = () => { throw refused; };
    const error = await rejects(arr.retrieveSubchunk([0, 0], { shardCache }), lib.IOError);
    equal(error.cause === refused, true, 'the cause is what the store threw');
    equal(await shardCache.isEmpty(), true, 'nothing kept');
    store.before = () => {};
    equal((await arr.retrieveSubchunk([0, 0], { shardCache })).data, subchunk(0, 0), 'the next call');
    store.before = (_, ranges) => { if (!('suffix' in ranges[0])) throw new lib.NotAllowedError('no'); };
    await rejects(arr.retrieveSubchunk([0, 1], { shardCache }), lib.NotAllowedError, 'in the middle of a read');
    store.before = () => {};
    equal((await arr.retrieveSubchunk([0, 1], { shardCache })).data, subchunk(0, 1), 'the next call');
  },

  async 'a store that breaks the rules is an error'({ load, lib }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray());
    const arr = await gh.openArray(store);
    const answers = {
      'too few ranges': { data: [] },
      'not bytes': { data: ['text'] },
      'no answer at all': 17,
      'more than asked': { data: [new Uint8Array(100000)] },
      'an endless version': { data: [new Uint8Array(1)], version: 'x'.repeat(200) },
    };
    for (const [what, answer] of Object.entries(answers)) {
      store.read = () => answer;
      await rejects(arr.retrieveSubchunk([0, 0]), lib.GridholdError, what);
    }
    delete store.read;
    equal((await arr.retrieveSubchunk([0, 0])).data, subchunk(0, 0), 'the next call');
  },

  async 'an abort ends one read and no other'({ load }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray());
    const arr = await gh.openArray(store);
    const shardCache = arr.shardCache();
    let open;
    const gate = new Promise((resolve) => (open = resolve));
    let seen;
    store.before = (key, ranges, signal) => { seen = signal; return gate; };
    const controller = new AbortController();
    const first = arr.retrieveSubchunk([0, 0], { shardCache, signal: controller.signal });
    const second = arr.retrieveSubchunk([0, 1], { shardCache });
    await wait(5);
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
    let told;
    const aborted = new Promise((resolve) => (told = resolve));
    store.before = (key, ranges, signal) => {
      signal.addEventListener('abort', told);
      return new Promise(() => {});
    };
    const controller = new AbortController();
    const reads = [0, 1].map((j) => arr.retrieveSubchunk([0, j], { shardCache, signal: controller.signal }));
    await wait(5);
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

  async 'use after close'({ load, lib }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray());
    const arr = await gh.openArray(store);
    const shardCache = arr.shardCache();
    await arr.retrieveSubchunk([0, 0], { shardCache });
    arr.close();
    arr.close();
    await rejects(arr.retrieveSubchunk([0, 0]), lib.ClosedError, 'array');
    await rejects(shardCache.stats(), lib.ClosedError, 'cache of a closed array');
    const disposed = await gh.openArray(store);
    disposed[Symbol.dispose](); // what `using` does
    await rejects(disposed.retrieveSubchunk([0, 0]), lib.ClosedError, 'disposed array');
    const again = await gh.openArray(store);
    let running;
    store.before = () => new Promise(() => {});
    running = again.retrieveSubchunk([0, 0]);
    await wait(5);
    gh.close();
    gh.close();
    await rejects(running, lib.ClosedError, 'what was running');
    await rejects(again.retrieveSubchunk([0, 0]), lib.ClosedError, 'after');
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

  async 'an instance that runs out of memory dies alone'({ load, lib }) {
    // Compiled for less than the guest is told: its own limits do not save it.
    const wasm = await lib.Gridhold.compile({ memory: 32 * MiB });
    const gh = await load({ wasm, memory: 512 * MiB });
    const small = await gh.openArray(new MemoryStore(await shardedArray()));
    const large = await gh.openArray(new MemoryStore(await shardedArray({ per: [1, 1], sub: [8192, 4096], skip: () => true })));
    const shardCache = small.shardCache();
    await small.retrieveSubchunk([0, 0], { shardCache });
    const error = await rejects(large.retrieveSubchunk([0, 0]), lib.InternalError);
    ok(/memory/.test(error.message), `says why: ${error.message}`);
    equal((await small.retrieveSubchunk([1, 2], { shardCache })).data, subchunk(1, 2), 'reopened by its recipe');
    equal((await shardCache.stats()).loads, 1, 'a fresh cache');
    ok(gh.memorySize <= 32 * MiB, 'the cap holds');
  },

  async 'a chunk over the limit of the memory is refused in time'({ load, lib }) {
    const gh = await load({ memory: 48 * MiB });
    const large = await gh.openArray(new MemoryStore(await shardedArray({ per: [1, 1], sub: [8192, 4096], skip: () => true })));
    await rejects(large.retrieveSubchunk([0, 0]), lib.LimitError);
    await rejects(load({ memory: 65536 }), lib.LimitError, 'less than the guest starts with');
  },

  async 'results stay what they are when memory grows'({ load }) {
    const gh = await load();
    const small = await gh.openArray(new MemoryStore(await shardedArray()));
    const large = await gh.openArray(new MemoryStore(await shardedArray({ per: [1, 1], sub: [4096, 2048], skip: () => true })));
    const held = await small.retrieveSubchunk([3, 3]);
    const before = gh.memorySize;
    const big = await large.retrieveSubchunk([0, 0]);
    ok(gh.memorySize > before, 'memory grew');
    equal(big.data.length, 4096 * 2048);
    equal(big.data.every((v) => v === 7), true, 'fill values');
    equal(held.data, subchunk(3, 3), 'the held result');
    equal((await small.retrieveSubchunk([3, 3])).data, held.data, 'the small one again');
    for (let round = 0; round < 3; round++) await large.retrieveSubchunk([0, 0]);
    const grown = gh.memorySize;
    for (let round = 0; round < 10; round++) await large.retrieveSubchunk([0, 0]);
    ok(gh.memorySize <= grown * 1.25, `memory settles: ${grown} and then ${gh.memorySize}`);
  },

  async 'offsets beyond 2^31 and 2^32; beyond 2^53 an error'({ load, lib }) {
    const gh = await load();
    const objects = await shardedArray();
    const shard = objects.get('c/0/0');
    const index = shard.slice(-(16 * 16 + 4));
    const put = (k, off) => new DataView(index.buffer).setBigUint64(16 * k, off, true);
    const offsets = [2n ** 31n + 5n, 2n ** 32n + 9n, 2n ** 53n + 1n];
    offsets.forEach((off, k) => put(k, off));
    new DataView(index.buffer).setUint32(index.length - 4, crc32c(index.subarray(0, -4)), true);
    const store = new MemoryStore(objects);
    const size = 2 ** 54;
    store.read = async (key, ranges) => {
      if (key !== 'c/0/0') return MemoryStore.prototype.read.call(store, key, ranges);
      const data = ranges.map((r) => ('suffix' in r ? index.slice(-r.suffix) : Uint8Array.from({ length: r.length }, (_, i) => (r.offset + i) % 251)));
      return { data, size, version: 'v' };
    };
    const arr = await gh.openArray(store);
    for (const [k, off] of offsets.entries()) {
      if (k === 2) {
        await rejects(arr.retrieveEncodedSubchunk([0, k]), lib.GridholdError, String(off));
      } else {
        const want = Uint8Array.from({ length: 32 }, (_, i) => (Number(off) + i) % 251);
        equal(await arr.retrieveEncodedSubchunk([0, k]), want, String(off));
      }
    }
  },

  async 'lent codecs change nothing but speed'({ load, lib, fixtures, manifest, zstd }) {
    const used = { zstd: 0, gzip: 0 };
    const counted = (name, { decode }) => ({ decode: (...args) => { used[name]++; return decode(...args); } });
    const codec = zstd.fromConfig({ level: 3 });
    const codecs = { zstd: counted('zstd', { decode: (bytes) => codec.decode(bytes) }), gzip: counted('gzip', lib.gzipStream) };
    const plain = await load();
    const lent = await load({ codecs });
    const strict = await load({ codecs, strict: true });
    const compressed = manifest.arrays.filter((a) => a.sha256 && /"(zstd|gzip)"/.test(JSON.stringify(a.codecs)));
    ok(compressed.length > 5, 'fixtures with codecs');
    const read = async (gh, { path, shape, sha256: sum }) => {
      const arr = await gh.openArray(fixtures, { path });
      equal(await sha256((await arr.retrieveRegion(shape.map(() => 0), shape)).data), sum, path);
    };
    for (const entry of compressed) await read(plain, entry);
    for (const entry of compressed) await read(strict, entry);
    equal(used, { zstd: 0, gzip: 0 }, 'strict lends nothing');
    for (const entry of compressed) await read(lent, entry);
    ok(used.zstd > 0 && used.gzip > 0, `used: ${JSON.stringify(used)}`);
  },

  async 'a lent codec that lies is not believed'({ load, lib, zstd }) {
    const codec = zstd.fromConfig({ level: 3 });
    const sub = [64, 64];
    let made = 0;
    const numcodecs = { fromConfig: (configuration) => { made++; return zstd.fromConfig(configuration); } };
    const objects = await shardedArray({
      sub, per: [2, 2],
      codecs: [{ name: 'zstd', configuration: { level: 3, checksum: false } }],
      encode: (bytes) => codec.encode(bytes),
    });
    const liars = {
      'too long': () => new Uint8Array(10 * MiB),
      'too short': () => new Uint8Array(3),
      'not bytes': () => 'text',
      throws: () => { throw new Error('no'); },
      rejects: async () => { throw new Error('no'); },
      'too long, later': async () => new Uint8Array(5000),
      'a class of numcodecs': numcodecs,
    };
    for (const [what, liar] of Object.entries(liars)) {
      const gh = await load({ codecs: { zstd: liar } });
      const arr = await gh.openArray(new MemoryStore(objects));
      equal((await arr.retrieveSubchunk([1, 1])).data, subchunk(1, 1, { sub }), what);
    }
    equal(made, 1, 'classes made ready');
    const broken = new Map(objects);
    const shard = Uint8Array.from(objects.get('c/0/0'));
    shard.fill(0, 8, 40);
    broken.set('c/0/0', shard);
    for (const codecs of [{}, { zstd }]) {
      const gh = await load({ codecs });
      const arr = await gh.openArray(new MemoryStore(broken));
      await rejects(arr.retrieveSubchunk([0, 0]), lib.CorruptError, 'damaged');
    }
  },

  async 'calls from within a store and from within a codec'({ load, zstd }) {
    const codec = zstd.fromConfig({ level: 3 });
    const objects = await shardedArray({ sub: [32, 32], per: [2, 2], codecs: [{ name: 'zstd', configuration: { level: 3, checksum: false } }], encode: (b) => codec.encode(b) });
    const plain = new MemoryStore(await shardedArray());
    let inner;
    const lent = { decode: (bytes) => { inner ??= arr2.retrieveSubchunk([0, 0]); return codec.decode(bytes); } };
    const gh = await load({ codecs: { zstd: lent } });
    const arr2 = await gh.openArray(plain);
    const store = new MemoryStore(objects);
    const arr = await gh.openArray(store);
    let nested;
    store.before = async () => { nested ??= arr2.retrieveSubchunk([1, 1]); equal((await nested).data, subchunk(1, 1)); };
    equal((await arr.retrieveSubchunk([0, 1])).data, subchunk(0, 1, { sub: [32, 32] }));
    equal((await inner).data, subchunk(0, 0), 'from within a codec');
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
    equal((await arr.retrieveSubchunk([9, 9], { shardCache })).data, subchunk(9, 9), 'after the storm');
  },

  async 'memory does not creep, whatever fails'({ load, lib }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray());
    const arr = await gh.openArray(store);
    const shardCache = arr.shardCache();
    const round = async () => {
      for (let k = 0; k < 1500; k++) {
        store.before = k % 2 === 0 ? () => {} : () => { throw new Error(`failure ${k}`); };
        const read = arr.retrieveSubchunk([k % 4, 0], k % 3 === 0 ? {} : { shardCache });
        if (k % 2 === 0) await read;
        else await rejects(read, lib.IOError);
        store.requests.length = 0;
      }
      return gh.memorySize;
    };
    await round();
    const settled = await round();
    equal((await round()) <= settled * 1.1, true, 'memory after three rounds');
  },

  async 'a held thread is let go: timers run among reads'({ load }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray());
    const arr = await gh.openArray(store);
    const shardCache = arr.shardCache();
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    const end = performance.now() + 200;
    const reader = async () => {
      while (performance.now() < end) await arr.retrieveSubchunk([0, 0], { shardCache });
    };
    await Promise.all(Array.from({ length: 8 }, reader));
    clearInterval(timer);
    ok(ticks >= 4, `${ticks} ticks in 200 ms`);
  },

  async 'HTTP: ranges, suffix and tags'({ load, serve, lib }) {
    const gh = await load();
    const objects = await shardedArray({ grid: [2, 1], skip: (i) => i >= 4 });
    const server = await serve(new Map([...objects].map(([key, bytes]) => [`a b/${key}`, bytes])));
    const arr = await gh.openArray(`${server.url}/a b`);
    const shardCache = arr.shardCache();
    server.requests.length = 0;
    equal((await arr.retrieveSubchunk([1, 1], { shardCache })).data, subchunk(1, 1));
    equal(server.requests.map((r) => [r.status, r.range?.startsWith('bytes=-') ?? false]), [[206, true], [206, false]]);
    equal(server.requests[0].path, '/a%20b/c/0/0');
    server.requests.length = 0;
    await Promise.all([0, 1, 2, 3].map((j) => arr.retrieveSubchunk([0, j], { shardCache })));
    equal(server.requests.length, 4, 'warm reads are one request each');
    equal((await arr.retrieveSubchunk([7, 3], { shardCache })).data, new Uint16Array(16).fill(7), 'absent shard');
    const value = (r, c) => r + c;
    server.put('a b/c/0/0', (await shardedArray({ value, pad: 16 })).get('c/0/0'));
    equal((await arr.retrieveSubchunk([2, 2], { shardCache })).data, subchunk(2, 2, { value }), 'rewritten');
    server.fail = 403;
    await rejects(arr.retrieveSubchunk([0, 0]), lib.NotAllowedError, '403');
    server.fail = 0;
    equal((await arr.retrieveSubchunk([0, 0], { shardCache })).data, subchunk(0, 0, { value }), 'the next call');
  },

  async 'HTTP: 403 for absent, no suffix, whole answers that are packed'({ load, serve, lib }) {
    const gh = await load();
    const objects = await shardedArray({ grid: [2, 1], skip: (i) => i >= 4 });
    const server = await serve(objects);
    server.missing = 403;
    const strict = await gh.openArray(server.url);
    await rejects(strict.retrieveSubchunk([7, 0]), lib.NotAllowedError, '403 by default');
    const lax = await gh.openArray(lib.httpStore(server.url, { forbiddenIsMissing: true, noSuffix: true }));
    server.requests.length = 0;
    equal((await lax.retrieveSubchunk([7, 0])).data, new Uint16Array(16).fill(7), '403 as absent');
    equal((await lax.retrieveSubchunk([0, 0])).data, subchunk(0, 0));
    equal(server.requests.some((r) => r.range?.startsWith('bytes=-')), false, 'no suffix asked');
    server.pack = true; // zarr.json with Content-Encoding: gzip
    const packed = await gh.openArray(server.url);
    equal(packed.shape, [32, 16], 'unpacked once');
    server.close();
    await rejects(gh.openArray(server.url), lib.IOError, 'nobody listens');
    await rejects(gh.openArray('ftp://host/x'), lib.UnsupportedError);
    await rejects(gh.openArray('file:///x'), lib.UnsupportedError);
  },

  async 'HTTP: an abort in flight'({ load, serve }) {
    const gh = await load();
    const server = await serve(await shardedArray());
    const arr = await gh.openArray(server.url);
    server.hang = true;
    const controller = new AbortController();
    const read = arr.retrieveSubchunk([0, 0], { signal: controller.signal });
    await server.asked();
    controller.abort();
    equal((await rejects(read, DOMException)).name, 'AbortError');
    await server.dropped();
    server.hang = false;
    equal((await arr.retrieveSubchunk([0, 0])).data, subchunk(0, 0), 'the next call');
  },
};

/** Evenly chosen, so that every kind of fixture has its turn. */
function pick(list, n) {
  return list.length <= n ? list : Array.from({ length: n }, (_, i) => list[Math.floor((i * list.length) / n)]);
}

/** The same numbers in each run: `random(n)` is from 0 up to and not including n. */
function randomNumbers(seed) {
  return (n) => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return (seed >>> 8) % n;
  };
}
