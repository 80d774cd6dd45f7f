// Counts up and appends so often, under the lock of the array at a path.
import { Gridhold } from '@gridhold/gridhold';
import { containerFile } from '@gridhold/gridhold/node';

const [path, times] = process.argv.slice(2);
const gh = await Gridhold.load({ strict: true });
const array = await gh.openContainer(containerFile(path), { mode: 'a', locking: true });
for (let i = 0; i < Number(times); i++) {
  await array.holdingLock(async (held) => {
    const { data } = await held.slice([0]);
    await held.setSlice([0], BigInt64Array.of(data[0] + 1n));
    await held.append(BigInt64Array.of(data[0]));
  });
}
await array.close();
gh.close();
