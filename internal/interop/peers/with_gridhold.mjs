// A process of Gridhold's JavaScript that works on one Blosc2 array, for the tests of sharing.
import { createInterface } from 'node:readline';

import { Gridhold } from '../../../bindings/js/dist/index.node.js';
import { containerFile } from '../../../bindings/js/dist/node.js';

const gridhold = await Gridhold.load();
let array;

const does = {
  async open({ path, mode, locking = true }) {
    array = await gridhold.openContainer(containerFile(path), { mode, locking });
    return {};
  },
  // Batches of size items, the i-th all tag*1000000+i.
  async append({ count, size, tag }) {
    for (let i = 0; i < count; i++) {
      await array.holdingLock((held) => held.append(new BigInt64Array(size).fill(BigInt(tag * 1000000 + i))));
    }
    return { n: count };
  },
  async increment({ count }) {
    for (let i = 0; i < count; i++) {
      await array.holdingLock(async (held) => {
        const { data } = await held.slice([0]);
        await held.setSlice([0], BigInt64Array.of(data[0] + 1n));
      });
    }
    return { n: count };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const answer = await does[request.do](request).catch((error) => ({ refused: String(error) }));
  process.stdout.write(JSON.stringify(answer) + '\n');
}
