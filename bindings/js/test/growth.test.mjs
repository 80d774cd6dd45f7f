// Report 33: a read that is under way while memory grows.
import { after, test } from 'node:test';

import { Gridhold } from '@gridhold/gridhold';

import { MemoryStore, shardedArray, subchunk } from './arrays.mjs';
import { equal, ok } from './check.mjs';

const gh = await Gridhold.load();
after(() => gh.close());

test('what a store brings after memory has grown goes where it belongs', async () => {
  const plain = new MemoryStore(await shardedArray());
  let grow = async () => {};
  const store = {
    async read(key, ranges, ...rest) {
      const answer = await plain.read(key, ranges, ...rest);
      await grow(); // the place that the answer goes to was named before
      return answer;
    },
  };
  const array = await gh.openArray(store);
  const held = await array.retrieveSubchunk([3, 3]);
  const copy = held.data.slice();
  let [rows, grown] = [1024, 0];
  grow = async () => {
    const size = rows;
    rows += 2048;
    const large = await gh.openArray(new MemoryStore(await shardedArray({ per: [1, 1], sub: [size, 1024], skip: () => true })));
    const before = gh.memorySize;
    equal((await large.retrieveSubchunk([0, 0])).data.length, size * 1024);
    large.close();
    if (gh.memorySize > before) grown++;
  };
  for (const index of [[0, 0], [1, 2], [2, 1]]) equal((await array.retrieveSubchunk(index)).data, subchunk(...index), `${index}`);
  ok(grown > 1, `memory grew ${grown} times`);
  const many = await Promise.all([[0, 1], [3, 0]].map((index) => array.retrieveSubchunk(index)));
  equal(many[0].data, subchunk(0, 1));
  equal(many[1].data, subchunk(3, 0));
  equal(held.data, copy, 'what was held');
  equal(copy, subchunk(3, 3));
});
