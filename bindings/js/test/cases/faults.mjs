// Stores that fail, instances that die, things that were closed.
import { MemoryStore, shardedArray, subchunk } from '../arrays.mjs';
import { equal, ok, rejects } from '../check.mjs';

const MiB = 1024 * 1024;

export const faults = {
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

  async 'a store that answers at once, fails at once, and calls back'({ load, lib }) {
    const gh = await load();
    const store = new MemoryStore(await shardedArray());
    const arr = await gh.openArray(store);
    const shardCache = arr.shardCache();
    await arr.retrieveSubchunk([0, 0], { shardCache });
    store.requests.length = 0;
    let inner;
    store.readNow = (key, [{ offset, length }], version) => {
      inner ??= arr.retrieveSubchunk([3, 3], { shardCache });
      return { data: [store.objects.get(key).slice(offset, offset + length)], version };
    };
    equal((await arr.retrieveSubchunk([1, 1], { shardCache })).data, subchunk(1, 1));
    equal((await inner).data, subchunk(3, 3), 'from within');
    equal(store.requests, [], 'nothing left to read');
    store.readNow = () => undefined;
    equal((await arr.retrieveSubchunk([1, 2], { shardCache })).data, subchunk(1, 2), 'left to read');
    equal(store.requests.length, 1);
    const refused = new Error('not now');
    store.readNow = () => { throw refused; };
    const error = await rejects(arr.retrieveSubchunk([1, 3], { shardCache }), lib.IOError);
    ok(error.cause === refused, 'the cause');
    store.readNow = () => ({ data: [] });
    await rejects(arr.retrieveSubchunk([1, 3], { shardCache }), lib.GridholdError, 'too few ranges');
    store.readNow = () => { gh.close(); };
    await rejects(arr.retrieveSubchunk([1, 3], { shardCache }), lib.ClosedError, 'closed from within');
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
    let came;
    const asked = new Promise((resolve) => (came = resolve));
    store.before = () => (came(), new Promise(() => {}));
    const running = again.retrieveSubchunk([0, 0]);
    await asked;
    gh.close();
    gh.close();
    await rejects(running, lib.ClosedError, 'what was running');
    await rejects(again.retrieveSubchunk([0, 0]), lib.ClosedError, 'after');
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
    for (let k = 0; k < 10; k++) await round(); // the guest's heap finds its size
    const settled = await round();
    for (let k = 0; k < 3; k++) await round();
    ok(gh.memorySize < settled + MiB, `memory after more of the same: ${settled}, then ${gh.memorySize}`);
  },
};
