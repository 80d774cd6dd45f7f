// What its user forgets, the garbage collector closes.
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { Gridhold } from '@gridhold/gridhold';

import { MemoryStore, shardedArray, wait } from './arrays.mjs';
import { ok, until } from './check.mjs';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');

test('a forgotten array lets go of its store, one in use does not', async () => {
  const gh = await Gridhold.load();
  const objects = await shardedArray();
  const stores = [];
  const held = [];
  const use = async (hold) => {
    const store = new MemoryStore(objects);
    const arr = await gh.openArray(store);
    await arr.retrieveSubchunk([0, 0], { shardCache: arr.shardCache() });
    stores.push(new WeakRef(store));
    if (hold) held.push(arr);
  };
  await use(false);
  await use(true);
  const [forgotten, kept] = stores;
  const gone = async () => {
    gc();
    await wait(5); // deref keeps its object until the end of a job: not before gc
    return forgotten.deref() === undefined;
  };
  await until(gone, 'the store let go of');
  ok(kept.deref() !== undefined, 'a store in use is gone');
  await held[0].retrieveSubchunk([1, 1]);
  gh.close();
});
