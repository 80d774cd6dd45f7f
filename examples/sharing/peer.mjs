// The process of Node in the examples of sharing: see main.go.
import { setTimeout as pause } from 'node:timers/promises';

import { Gridhold } from '../../bindings/js/dist/index.node.js';
import { containerFile } from '../../bindings/js/dist/node.js';

const WIDTH = 10;
const job = JSON.parse(process.env.GRIDHOLD_SHARING_JOB);
const tell = (done, rows) => process.stdout.write(`${JSON.stringify({ done, rows })}\n`);
const items = (rows, value) => new BigInt64Array(rows * WIDTH).fill(value);
const alike = ({ data }) => data.every((item) => item === data[0]);

const gh = await Gridhold.load();
const writes = job.role === 'append' || job.role === 'assign';
const array = await gh.openContainer(containerFile(job.path), { mode: writes ? 'a' : 'r', locking: job.locking });
try {
  await (job.role === 'follow' ? follow() : work());
} catch (e) {
  process.stdout.write(`${JSON.stringify({ error: String(e) })}\n`);
  process.exitCode = 1;
}
await array.close();
gh.close();

async function follow() {
  let settled = 0;
  while (settled < job.until) {
    await array.refresh();
    const [rows] = array.shape;
    for (; settled + job.batch <= rows; settled += job.batch) {
      const batch = await array.slice([{ start: settled, stop: settled + job.batch }]);
      if (job.locking && !alike(batch)) throw new Error(`rows from ${settled} are of several batches`);
    }
    tell(settled, rows);
    await pause(1);
  }
}

async function work() {
  for (let i = 0; i < job.batches; i++) {
    const value = (BigInt(job.tag) << 32n) | BigInt(i);
    if (job.role === 'append') {
      await array.holdingLock((held) => held.append(items(job.batch, value)));
    } else if (job.role === 'assign') {
      await array.setSlice([], items(array.shape[0], value));
    } else if (!alike(await array.slice())) {
      throw new Error('items of two assignments');
    }
    tell((i + 1) * job.batch, array.shape[0]);
  }
}
