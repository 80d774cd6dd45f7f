// The store of files: containment, freshness, errors told apart.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';

import * as lib from '@gridhold/gridhold';
import { codecs, fileStore } from '@gridhold/gridhold/node';

import { MemoryStore, shardedArray, subchunk } from './arrays.mjs';
import { equal, ok, rejects, until } from './check.mjs';

const { InvalidError, NotAllowedError, IOError, StaleError, ClosedError } = lib;
const all = [{ offset: 0 }];

let dir;
let store;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gridhold-'));
  mkdirSync(join(dir, 'root/sub'), { recursive: true });
  writeFileSync(join(dir, 'root/sub/a'), 'hello');
  writeFileSync(join(dir, 'secret'), 'secret');
  store = fileStore(join(dir, 'root'));
});
afterEach(() => {
  store.close();
  rmSync(dir, { recursive: true });
});

function save(objects, { rename = false } = {}) {
  for (const [key, bytes] of objects) {
    const path = join(dir, 'root', key);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(rename ? `${path}.new` : path, bytes);
    if (rename) renameSync(`${path}.new`, path);
  }
}

for (const blocking of [false, true]) {
  test(`ranges of a file, blocking ${blocking}`, async () => {
    store = fileStore(join(dir, 'root'), { blocking });
    const ranges = [
      { offset: 1, length: 2 }, { suffix: 2 }, { suffix: 99 },
      { offset: 3 }, { offset: 4, length: 9 }, { offset: 9, length: 1 },
    ];
    const { data, size, version } = await store.read('sub/a', ranges);
    equal(data.map((bytes) => Buffer.from(bytes).toString()), ['el', 'lo', 'hello', 'lo', 'o', '']);
    equal(size, 5);
    equal((await store.read('sub/a', all, version)).version, version, 'the same version');
    equal(await store.read('sub/b', all), undefined, 'missing');
    equal(await store.read('sub/a/b', all), undefined, 'below a file');
  });
}

test('a blocking store answers at once from files that it holds open', async () => {
  await store.read('sub/a', all);
  equal(store.readNow('sub/a', all, undefined), undefined, 'not a blocking one');
  store.close();
  store = fileStore(join(dir, 'root'), { blocking: true });
  equal(store.readNow('sub/a', all, undefined), undefined, 'not open yet');
  const { version } = await store.read('sub/a', all);
  const answer = store.readNow('sub/a', [{ offset: 1, length: 2 }, { suffix: 1 }], version);
  equal(answer.data.map((bytes) => Buffer.from(bytes).toString()), ['el', 'o']);
  equal([answer.size, answer.version], [5, version]);
  save([['sub/a', 'other']]);
  await rejects((async () => store.readNow('sub/a', all, version))(), lib.StaleError, 'rewritten');
  save([['sub/a', 'third']], { rename: true });
  equal(store.readNow('sub/a', all, undefined), undefined, 'replaced');
  equal(Buffer.from((await store.read('sub/a', all)).data[0]).toString(), 'third');
  ok(store.readNow('sub/a', all, undefined), 'open anew');
  store.close();
  equal(store.readNow('sub/a', all, undefined), undefined, 'closed');
});

test('keys cannot lead out', async () => {
  for (const key of ['', '/', '../secret', 'sub/../../secret', './a', 'sub//a', 'sub/', '/etc/passwd', 'a\0b', 'a\\b']) {
    await rejects(store.read(key, all), InvalidError, JSON.stringify(key));
  }
});

test('links cannot lead out, whether something is there or not', async () => {
  const link = (target, name) => symlinkSync(target, join(dir, 'root', name));
  link('../secret', 'relative');
  link(join(dir, 'secret'), 'absolute');
  link('..', 'parent');
  link('../nothing', 'dangling');
  link('../nothing', 'nodir');
  link('relative', 'chain');
  link('sub/a', 'inside');
  link('sub', 'subdir');
  for (const key of ['relative', 'absolute', 'parent/secret', 'parent/nothing', 'dangling', 'nodir/x', 'chain']) {
    await rejects(store.read(key, all), NotAllowedError, key);
  }
  equal((await store.read('inside', all)).size, 5, 'a link within');
  equal((await store.read('subdir/a', all)).size, 5, 'a linked directory within');
  equal(await store.list(''), ['inside', 'sub/', 'subdir/']);
  equal(await store.list('parent/'), []);
  equal(await store.list('none/'), []);
  await rejects(store.list('../'), InvalidError);
});

test('what is no file is an error at once', async () => {
  execFileSync('mkfifo', [join(dir, 'root/pipe')]);
  await rejects(store.read('pipe', all), IOError, 'pipe');
  await rejects(store.read('sub', all), IOError, 'directory');
  store.close();
  store.close();
  await rejects(store.read('sub/a', all), ClosedError, 'closed');
});

test('a changed file is another version, however it was changed', async () => {
  let before = await store.read('sub/a', all);
  const changes = {
    'in place': () => writeFileSync(join(dir, 'root/sub/a'), 'HELLO'),
    'by rename': () => save([['sub/a', 'again']], { rename: true }),
    'removed and written': () => (unlinkSync(join(dir, 'root/sub/a')), writeFileSync(join(dir, 'root/sub/a'), 'twice')),
  };
  for (const [what, change] of Object.entries(changes)) {
    change();
    await rejects(store.read('sub/a', all, before.version), StaleError, what);
    const after = await store.read('sub/a', all);
    ok(after.version !== before.version, what);
    before = after;
  }
  unlinkSync(join(dir, 'root/sub/a'));
  equal(await store.read('sub/a', all), undefined, 'removed');
});

test('two writes in one tick of the clock are two versions', async () => {
  const seen = new Set();
  for (let i = 0; i < 5; i++) {
    writeFileSync(join(dir, 'root/sub/a'), `text${i}`);
    const { data, version } = await store.read('sub/a', all);
    equal(Buffer.from(data[0]).toString(), `text${i}`);
    seen.add(version);
  }
  equal(seen.size, 5);
});

test('a directory put in place of another is seen after the recheck', async () => {
  store = fileStore(join(dir, 'root'), { recheck: 0 });
  await store.read('sub/a', all);
  renameSync(join(dir, 'root/sub'), join(dir, 'root/old'));
  mkdirSync(join(dir, 'root/sub'));
  writeFileSync(join(dir, 'root/sub/a'), 'other bytes');
  equal((await store.read('sub/a', all)).size, 11);
});

test('few files are kept open, none after close', async () => {
  const open = () => readdirSync('/proc/self/fd').length;
  for (let i = 0; i < 50; i++) writeFileSync(join(dir, `root/f${i}`), `${i}`);
  store = fileStore(join(dir, 'root'), { handles: 4 });
  const before = open();
  const check = async (i) => equal(Buffer.from((await store.read(`f${i}`, all)).data[0]).toString(), `${i}`);
  await Promise.all(Array.from({ length: 200 }, (_, i) => check(i % 50)));
  await until(() => open() <= before + 4, 'four files open'); // closing is done by the system's threads
  store.close();
  await until(() => open() <= before, 'none open after close');
});

for (const blocking of [false, true]) test(`a rewritten shard is noticed, blocking ${blocking}`, async () => {
  const gh = await lib.Gridhold.load();
  store = fileStore(join(dir, 'root'), { blocking });
  save(await shardedArray());
  const arr = await gh.openArray(store);
  const shardCache = arr.shardCache();
  equal((await arr.retrieveSubchunk([0, 0], { shardCache })).data, subchunk(0, 0));
  for (const [rename, pad] of [[true, 16], [false, 64]]) {
    const value = (r, c) => r * 100 + c + pad;
    save([...(await shardedArray({ value, pad }))].slice(1), { rename });
    equal((await arr.retrieveSubchunk([2, 1], { shardCache })).data, subchunk(2, 1, { value }), `rename ${rename}`);
  }
  gh.close();
});

test("Node's own codecs give the same bytes", async () => {
  const { gzipSync } = await import('node:zlib');
  const sub = [256, 300]; // over 64 KiB
  const gzip = [{ name: 'gzip', configuration: { level: 5 } }];
  const objects = await shardedArray({ sub, per: [2, 2], codecs: gzip, encode: (bytes) => gzipSync(bytes) });
  const more = (bytes) => Buffer.concat([gzipSync(bytes), Buffer.from('more')]);
  const trailing = await shardedArray({ sub, per: [2, 2], codecs: gzip, encode: more });
  const results = [];
  for (const lent of [{}, codecs]) {
    const gh = await lib.Gridhold.load({ codecs: lent });
    const arr = await gh.openArray(new MemoryStore(objects));
    equal((await arr.retrieveSubchunk([1, 0])).data, subchunk(1, 0, { sub }));
    const bad = await gh.openArray(new MemoryStore(trailing));
    results.push(await bad.retrieveSubchunk([1, 0]).then(() => 'read', (error) => error.code));
    gh.close();
  }
  equal(results[0], results[1], 'bytes after the end');
});
