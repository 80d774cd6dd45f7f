// Locks in Node: against itself, other processes of Node, and whoever else takes flock.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Gridhold, LockTimeoutError, UnsupportedError } from '@gridhold/gridhold';
import { NodeFileSystem, containerFile, lockers } from '@gridhold/gridhold/node';

import { equal, ok, rejects, until } from './check.mjs';

let gh;
let dir;
before(async () => {
  gh = await Gridhold.load({ strict: true });
  dir = mkdtempSync(join(tmpdir(), 'gridhold-'));
});
after(() => {
  gh.close();
  rmSync(dir, { recursive: true });
});

const never = new AbortController().signal;
const locking = true;
const counter = (name) => gh.createArray(containerFile(join(dir, name)), { shape: [4], dtype: 'int64', locking });

/** A process that locks a file with the command flock and says so; it ends when its input does. */
function holder(path, how) {
  const child = spawn('flock', [how, path, 'sh', '-c', 'echo held; read x'], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.on('error', () => {}); // it has ended already
  const held = new Promise((resolve) => child.stdout.once('data', resolve));
  const ended = new Promise((resolve) => child.once('exit', resolve));
  return { held, end: () => (child.stdin.end('\n'), ended) };
}

test('one reads and writes while the others wait', async () => {
  await (await counter('a.b2nd')).close();
  const open = (how) => gh.openContainer(containerFile(join(dir, 'a.b2nd')), { mode: 'a', locking, ...how });
  const [a, b] = await Promise.all([open(), open()]);
  let hasty;
  await until(async () => { // nobody is in his way, but the child that locks for him may be late
    hasty = await open({ lockTimeout: 700 }).catch((error) => ok(error instanceof LockTimeoutError, error.stack));
    return hasty !== undefined;
  }, 'one who waits for little');
  const increment = (array) => array.holdingLock(async (held) => {
    const { data } = await held.slice([0]);
    await held.setSlice([0], BigInt64Array.of(data[0] + 1n));
  });
  await Promise.all([...Array(5)].map(() => increment(a)));
  await a.holdingLock(async (held) => {
    await rejects(hasty.slice(), LockTimeoutError);
    await rejects(hasty.setSlice([1], BigInt64Array.of(7n)), LockTimeoutError);
    await held.setSlice([1], BigInt64Array.of(8n));
  });
  await a.holdingSharedLock(async (held) => {
    equal((await held.slice()).data, BigInt64Array.of(5n, 8n, 0n, 0n));
    equal((await b.slice([1])).data, BigInt64Array.of(8n));
    await rejects(hasty.setSlice([1], BigInt64Array.of(7n)), LockTimeoutError);
  });
  await rejects(a.holdingLock(async () => { throw new RangeError('mine'); }), RangeError);
  await b.setSlice([2], BigInt64Array.of(9n)); // it was given back
  equal((await a.slice()).data, BigInt64Array.of(5n, 8n, 9n, 0n));
  for (const each of [a, b, hasty]) await each.close();
});

/** Whether somebody is in a gate: its file is there a moment earlier. */
const isShut = async (gate) => existsSync(gate) && (await holder(gate, '-sn').end()) === 1;

test('others who take flock keep us out, and those who wait leave', async () => {
  await (await counter('b.b2nd')).close();
  const gate = join(dir, 'b.b2nd.b2lock.gate');
  const array = await gh.openContainer(containerFile(join(dir, 'b.b2nd')), { mode: 'a', locking });
  const other = holder(join(dir, 'b.b2nd.b2lock'), '-s');
  await other.held;
  equal((await array.slice([0])).data, BigInt64Array.of(0n));
  const leaving = new AbortController();
  const left = array.setSlice([0], BigInt64Array.of(1n), { signal: leaving.signal });
  await until(() => existsSync(gate), 'the gate'); // which is not shut yet, most times
  leaving.abort(new RangeError('enough'));
  await rejects(left, RangeError);
  await until(() => !existsSync(gate), 'no gate');
  const written = array.setSlice([0], BigInt64Array.of(2n));
  await until(() => isShut(gate), 'the gate shut');
  const reader = await gh.openContainer(containerFile(join(dir, 'b.b2nd')), {});
  equal((await reader.slice([0])).data, BigInt64Array.of(0n)); // one that does not lock
  await reader.close();
  const files = new NodeFileSystem(dir);
  let read = false; // a reader of ours waits behind the writer who waits
  const passed = files.lock('b.b2nd.b2lock', false, never).then((lock) => {
    read = true;
    lock.release();
  });
  (await files.lock('b.lock', false, never)).release(); // as long as it takes one that nobody keeps out
  ok(!read, 'the reader waits');
  await other.end();
  await written;
  await passed;
  equal((await array.slice([0])).data, BigInt64Array.of(2n));
  ok(!existsSync(gate), 'the gate is gone');
  await array.close();
});

test('who finds another in the gate enters it after him', async () => {
  const [lock, gate] = ['g.b2lock', 'g.b2lock.gate'].map((name) => join(dir, name));
  const inGate = holder(gate, '-x');
  const other = holder(lock, '-s');
  await Promise.all([inGate.held, other.held]);
  let tries = 0;
  const files = new (class extends NodeFileSystem {
    descriptor(name, flags) {
      tries += Number(name.endsWith('.gate'));
      return super.descriptor(name, flags);
    }
  })(dir);
  const locked = lockers.flock(files, 'g.b2lock', true, never);
  await until(() => tries > 1, 'a second try');
  await inGate.end(); // and the file stays, as that of one who was killed
  await until(() => isShut(gate), 'the gate shut');
  await other.end();
  (await locked).release();
  ok(!existsSync(gate), 'the gate is gone');
});

test('processes of Node count together', async () => {
  const path = join(dir, 'c.b2nd');
  await (await gh.createArray(containerFile(path), { shape: [1], dtype: 'int64', locking })).close();
  const child = fileURLToPath(new URL('./locking-child.mjs', import.meta.url));
  const ends = [0, 1, 2].map(() => new Promise((resolve) => {
    spawn(process.execPath, [child, path, '15'], { stdio: ['ignore', 'inherit', 'inherit'] }).once('exit', resolve);
  }));
  equal(await Promise.all(ends), [0, 0, 0]);
  const array = await gh.openContainer(containerFile(path));
  equal((await array.slice([0])).data, BigInt64Array.of(45n));
  equal((await array.slice()).shape, [46]);
  await array.close();
  equal(readFileSync(`${path}.b2lock`).length, 16);
});

test('where there is no command to lock by', async () => {
  const [path, PATH] = [join(dir, 'd.b2nd'), process.env.PATH];
  process.env.PATH = dir;
  try {
    const nothing = containerFile(path, { locker: lockers.coprocess('gridhold-that-is-not-there') });
    await rejects(gh.createArray(nothing, { shape: [1], dtype: 'int64', locking: true }), UnsupportedError);
    await rejects(new NodeFileSystem(dir, lockers.flock).lock('d', true, never), UnsupportedError);
  } finally {
    process.env.PATH = PATH;
  }
});

test('a hold ends with its guest', async () => {
  const module = await Gridhold.compile({ memory: 64 << 20 });
  const small = await Gridhold.load({ wasm: module, memory: 1 << 30, strict: true }); // which believes that there is more
  const path = join(dir, 'e.b2nd');
  const array = await small.createArray(containerFile(path), { shape: [10], chunks: [10], dtype: 'int64', locking });
  const zeros = new Uint8Array(200 << 20);
  await rejects(array.holdingLock(async (held) => {
    await held.setSlice([0], BigInt64Array.of(1n));
    const other = await small.createSChunk(containerFile(join(dir, 'f.b2frame')), { chunksize: 1 << 20 });
    await rejects(other.append(zeros), Error, 'no memory');
    await held.slice();
  }), Error, 'closed');
  equal((await array.slice([0])).data, BigInt64Array.of(1n)); // opened again, and what was committed is there
  const again = await gh.openContainer(containerFile(path), { mode: 'a', locking });
  await again.setSlice([1], BigInt64Array.of(2n)); // nobody holds the lock
  equal((await array.slice([1])).data, BigInt64Array.of(2n));
  await again.close();
  await array.close();
  small.close();
});
