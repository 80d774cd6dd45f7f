// What is read, and what is refused.
import { MemoryStore, crc32c, shardedArray, subchunk } from '../arrays.mjs';
import { equal, ok, rejects } from '../check.mjs';

/** Compares an array of a type that its name alone describes. */
function plain(got, { data, shape, dtype }, what) {
  const { buffer } = data;
  equal(got, { data, bytes: new Uint8Array(buffer), shape, dtype, type: { name: dtype, itemSize: data.BYTES_PER_ELEMENT } }, what);
}

export const reading = {
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
    plain(got, { data: subchunk(2, 3), shape: [4, 4], dtype: 'uint16' });
    equal((await arr.retrieveSubchunk([1, 2])).data, new Uint16Array(16).fill(7), 'empty subchunk');
    equal(await arr.retrieveEncodedSubchunk([2, 3]), new Uint8Array(subchunk(2, 3).buffer));
    equal(await arr.retrieveEncodedSubchunk([1, 2]), undefined, 'empty subchunk, encoded');
    const region = await arr.retrieveRegion([3, 2], [5, 4]);
    plain(region, { data: Uint16Array.of(3002, 3003, 4002, 4003), shape: [2, 2], dtype: 'uint16' });
    equal((await arr.retrieveRegion([3, 2], [3, 9])).data.length, 0, 'region of no rows');
  },

  async 'edge subchunk and absent shard'({ load }) {
    const gh = await load();
    const objects = await shardedArray({ grid: [2, 1], shape: [30, 14], skip: (i) => i < 4 });
    const arr = await gh.openArray(new MemoryStore(objects));
    equal(objects.has('c/0/0'), false, 'the first shard is there');
    equal((await arr.retrieveSubchunk([0, 0])).data, new Uint16Array(16).fill(7), 'absent shard');
    const edge = await arr.retrieveSubchunk([7, 3]);
    plain(edge, { data: subchunk(7, 3), shape: [4, 4], dtype: 'uint16' }, 'edge subchunk');
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
      const at = (offset, length) => Uint8Array.from({ length }, (_, i) => (offset + i) % 251);
      const data = ranges.map((r) => ('suffix' in r ? index.slice(-r.suffix) : at(r.offset, r.length)));
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
};
