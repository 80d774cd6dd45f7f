// Many subchunks in one call.
import { MemoryStore, shardedArray, subchunk } from '../arrays.mjs';
import { equal, rejects } from '../check.mjs';

const indices = [[7, 3], [0, 0], [2, 1], [0, 0], [5, 2]];

export const batches = {
  async 'a batch is what single reads are, and loads each index once'({ load, lib }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray({ grid: [2, 1], skip: (i, j) => i === 2 && j === 1 }));
    const arr = await gh.openArray(store);
    const shardCache = arr.shardCache();
    store.requests.length = 0;
    const got = await arr.retrieveSubchunks(indices, { shardCache });
    equal(store.indexLoads(), 2, 'index loads');
    equal(store.requests.length, 4, 'one request for the subchunks of a shard');
    for (const [i, index] of indices.entries()) {
      equal(got[i], await arr.retrieveSubchunk(index, { shardCache }), `subchunk ${index}`);
    }
    equal(got[0].data, subchunk(7, 3));
    equal(got[2].data, new Uint16Array(16).fill(7), 'empty');
    equal(got[1].data.buffer === got[3].data.buffer, false, 'each owns its memory');
    equal(await arr.retrieveSubchunks([]), []);
    await rejects(arr.retrieveSubchunks([[0, 0], [8, 0]]), lib.OutOfRangeError);
    await rejects(arr.retrieveSubchunks([[0, 0], [1]]), lib.InvalidError);
    await rejects(arr.retrieveSubchunks([[0, 0.5]]), lib.InvalidError);
    const other = await gh.openArray(new MemoryStore(store.objects));
    await rejects(arr.retrieveSubchunks(indices, { shardCache: other.shardCache() }), lib.WrongArrayError);
    store.requests.length = 0;
    await arr.retrieveSubchunks(indices, { shardCache, reload: true });
    equal(store.indexLoads(), 2, 'index loads of a reload');
  },

  async 'places: where subchunks lie'({ load, lib }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray({ grid: [2, 1], pad: 8, skip: (i, j) => i === 2 && j === 1 }));
    const arr = await gh.openArray(store, {});
    const got = await arr.locateSubchunks(indices);
    const place = (key, offset) => ({ key, version: 'v1', offset, length: 32, raw: true });
    equal(got[1], place('c/0/0', 8));
    equal(got[3], got[1]);
    equal(got[2], undefined, 'not stored');
    equal([got[0].key, got[0].length], ['c/1/0', 32]);
    const { data: [bytes] } = await store.read(got[0].key, [{ offset: got[0].offset, length: got[0].length }]);
    equal(bytes, new Uint8Array(subchunk(7, 3).buffer));
    equal(await arr.locateSubchunks([]), []);
    await rejects(arr.locateSubchunks([[8, 0]]), lib.OutOfRangeError);
  },

  async 'a batch that memory cannot hold is refused in time'({ load, lib }) {
    const gh = await load({ memory: 64 * 2 ** 20 });
    const arr = await gh.openArray(new MemoryStore(await shardedArray({ per: [1, 1], sub: [2048, 2048], skip: () => true })));
    await rejects(arr.retrieveSubchunks(Array(8).fill([0, 0])), lib.LimitError);
    equal((await arr.retrieveSubchunks([[0, 0]]))[0].data.length, 2048 * 2048, 'the next call');
  },

  async 'an abort ends a batch'({ load }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray());
    const arr = await gh.openArray(store);
    const controller = new AbortController();
    store.before = () => controller.abort();
    const error = await rejects(arr.retrieveSubchunks([[0, 0], [1, 1]], { signal: controller.signal }), DOMException);
    equal(error.name, 'AbortError');
    store.before = () => {};
    equal((await arr.retrieveSubchunks([[1, 1]]))[0].data, subchunk(1, 1), 'the next call');
  },
};
