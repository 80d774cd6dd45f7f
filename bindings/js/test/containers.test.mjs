// Blosc2 containers in Node: what python-blosc2 wrote, what is damaged, what is written here.
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import * as lib from '@gridhold/gridhold';
import { NodeFileSystem, containerFile } from '@gridhold/gridhold/node';

import { equal, ok, rejects, sha256 } from './check.mjs';

const { Gridhold, NDArray, SChunk, TreeStore } = lib;
const containers = fileURLToPath(new URL('../../../testdata/blosc2/', import.meta.url));
const entries = JSON.parse(readFileSync(join(containers, 'manifest.json'), 'utf8')).entries.filter((e) => e.kind !== 'chunk');

let gh;
let dir;
before(async () => {
  gh = await Gridhold.load({ memory: 400 << 20, strict: true });
  dir = mkdtempSync(join(tmpdir(), 'gridhold-'));
});
after(() => {
  gh.close();
  rmSync(dir, { recursive: true });
});

const at = (name) => containerFile(join(containers, name));

async function whole(opened) {
  if (opened instanceof NDArray) return (await opened.slice()).bytes;
  const chunks = [];
  for (let i = 0; i < opened.nchunks; i++) chunks.push(await opened.decompressChunk(i));
  return new Uint8Array(Buffer.concat(chunks));
}

test('all that python-blosc2 wrote', async () => {
  let read = 0;
  for (const e of entries) {
    const opened = await gh.openContainer(at(e.file));
    for (const [key, { type, sha256: want }] of Object.entries(e.keys ?? {})) {
      if (type === 'TreeStore') continue;
      const leaf = await opened.get(key);
      equal(await sha256(await whole(leaf)), want, key);
      await leaf.close();
      read++;
    }
    if (e.keys === undefined) {
      try {
        const bytes = await whole(opened);
        if (e.sha256) equal(await sha256(bytes), e.sha256, e.file);
        read++;
      } catch (error) {
        ok(error instanceof lib.UnsupportedError && e.file.startsWith('plugin/'), `${e.file}: ${error}`);
      }
    }
    await opened.close();
  }
  ok(read > 250, `${read}`);
});

test('what is damaged is refused in time, and no instance dies of it', async () => {
  const good = await gh.openContainer(at('ndim/2d.b2nd'));
  const guest = await gh.guest();
  let refused = 0;
  for (const name of readdirSync(join(containers, 'corrupt'))) {
    if (name.endsWith('.json') || statSync(join(containers, 'corrupt', name)).isDirectory()) continue;
    const start = process.cpuUsage(); // a machine that does other things may take any time
    try {
      const opened = await gh.openContainer(at(`corrupt/${name}`));
      if (opened.nbytes < 1 << 26) await whole(opened);
      await opened.close();
    } catch (error) {
      ok(['Corrupt', 'Unsupported', 'Limit', 'NotFound'].includes(error.code), `${name}: ${error}`);
      refused++;
    }
    const { user, system } = process.cpuUsage(start);
    ok(user + system < 20e6, name);
  }
  ok(refused > 50, `${refused}`);
  ok((await gh.guest()) === guest, 'the same instance');
  await good.close();
});

test('slices', async () => {
  const array = await gh.openContainer(at('ndim/2d.b2nd')); // 45 x 67 int32
  equal(array.shape, [45, 67]);
  const all = (await array.slice()).data;
  const some = await array.slice([{ start: -1, step: -20 }, { start: 60, stop: 99, step: 3 }]);
  equal(some.shape, [3, 3]);
  equal(Array.from(some.data), [44, 24, 4].flatMap((i) => [60, 63, 66].map((j) => all[i * 67 + j])));
  const row = await array.slice([-1]);
  equal(row.shape, [1, 67]);
  equal(Array.from(row.data), Array.from(all.subarray(44 * 67)));
  equal(row.dtype, 'int32');
  equal((await array.slice([{ start: 3, stop: 3 }])).data.length, 0);
  await rejects(array.slice([45]), lib.OutOfRangeError);
  await rejects(array.slice([0, 0, 0]), lib.InvalidError);
  await array.close();
  await array.close();
  await rejects(array.slice(), lib.ClosedError);
  await rejects(gh.openContainer(at('none.b2nd')), lib.NotFoundError);
});

for (const codec of ['blosclz', 'lz4', 'lz4hc', 'zlib', 'zstd']) {
  test(`an array is written with ${codec}`, async () => {
    const data = Int32Array.from({ length: 61 * 37 }, (_, i) => i % 50);
    const target = containerFile(join(dir, `${codec}.b2nd`));
    const options = { shape: [61, 37], dtype: 'int32', chunks: [20, 16], blocks: [7, 5], data, cparams: { codec } };
    const array = await gh.createArray(target, options);
    await rejects(gh.createArray(target, options), lib.ExistsError);
    equal((await array.info()).codec, codec);
    await array.setSlice([{ start: 3, stop: 50, step: 40 }, 2], Int32Array.of(-7, -8));
    [data[3 * 37 + 2], data[43 * 37 + 2]] = [-7, -8];
    await array.append(new Int32Array(37).fill(9));
    equal(array.shape, [62, 37]);
    const value = { a: [1, -5, 2.5, null, true, Uint8Array.of(1, 2), 'é'.repeat(40)], n: 2n ** 63n };
    await array.vlmeta.set('who', value);
    await array.compact();
    await array.close();

    const again = await gh.openContainer(target);
    equal((await again.slice()).data, Int32Array.of(...data, ...new Int32Array(37).fill(9)));
    equal(await again.vlmeta.get('who'), value);
    equal((await again.verify()).damaged, []);
    await rejects(again.vlmeta.get('none'), lib.NotFoundError);
    await rejects(again.setSlice([0], new Int32Array(37)), lib.ReadOnlyError);
    const writer = await gh.openContainer(target, { mode: 'a' });
    await writer.holdingLock((held) => held.resize([5, 37]));
    ok(await again.refresh(), 'changed');
    equal([again.shape, await again.changeTick()], [[5, 37], 1]);
    await writer.close();
    await again.close();
  });
}

test('a sequence and stores', async () => {
  const data = Int32Array.from({ length: 1000 }, (_, i) => i);
  const s = await gh.createSChunk(containerFile(join(dir, 's.b2frame')), { typesize: 4, chunksize: 1600, data });
  await s.append(data.subarray(0, 300));
  await s.updateData(0, new Uint8Array(1600));
  await s.insertData(1, data.subarray(0, 400));
  await s.deleteChunk(0);
  await s.setSlice(2, Int32Array.of(77));
  equal([s.length, s.nchunks], [1300, 4]);
  const want = Int32Array.of(...data, ...data.subarray(0, 300));
  want[2] = 77;
  equal(new Int32Array((await s.getSlice()).buffer), want);
  equal(new Int32Array((await s.getSlice({ start: -1, step: -500 })).buffer), Int32Array.of(want[1299], want[799], want[299]));
  for (const kind of ['embedstore', 'dictstore', 'treestore']) {
    const store = await gh.createStore(containerFile(join(dir, kind)), { kind });
    await store.put('/a/b', s);
    await store.put('c', s);
    await store.delete('/c');
    await rejects(store.get('/c'), lib.NotFoundError);
    let name = kind;
    if (kind !== 'embedstore') {
      name = `${kind}.b2z`;
      await store.toB2z(containerFile(join(dir, name)));
      await rejects(store.toB2z(containerFile(join(dir, name))), lib.ExistsError);
    }
    await store.close();
    const again = await gh.openContainer(containerFile(join(dir, name)));
    ok((await again.keys()).includes('/a/b'), 'the key');
    if (again instanceof TreeStore) equal([await again.getChildren('/a'), await again.getVlmeta()], [['b'], {}]);
    await again.close();
    const leaf = await gh.openContainer(containerFile(join(dir, name)), { key: '/a/b' });
    ok(leaf instanceof SChunk, leaf.kind);
    equal(leaf.length, 1300);
    await leaf.close();
  }
  await s.close();
});

test('metadata of the nodes of a tree', async () => {
  const name = join(dir, 'nodes.b2d');
  const tree = await gh.createStore(containerFile(name), { kind: 'treestore' });
  const frame = await gh.createSChunk(containerFile(join(dir, 'node.b2frame')), { data: new Uint8Array(10) });
  await tree.put('/a/b', frame);
  await tree.setVlmeta('/a', 'unit', 'm');
  await tree.setVlmeta('/a/', 'scale', [1, 2.5, { deep: null }]);
  await tree.setVlmeta('/', 'title', 'all');
  await tree.setVlmeta('/a', 'unit', 'km');
  equal(await tree.getVlmeta('/a'), { unit: 'km', scale: [1, 2.5, { deep: null }] });
  await tree.deleteVlmeta('/a', 'scale');
  await rejects(tree.deleteVlmeta('/a', 'scale'), lib.NotFoundError);
  await tree.close();
  const again = await gh.openContainer(containerFile(name));
  equal([await again.getVlmeta('/a'), await again.getVlmeta(), await again.getVlmeta('/a/b')], [{ unit: 'km' }, { title: 'all' }, {}]);
  equal(await again.keys(), ['/a', '/a/b']);
  await rejects(again.setVlmeta('/a', 'unit', 'mm'), lib.ReadOnlyError);
  await again.close();
  await frame.close();
});

test('no name and no link leads out', async () => {
  mkdirSync(join(dir, 'in'));
  const secret = await gh.createArray(containerFile(join(dir, 'secret.b2nd')), { shape: [1], dtype: 'uint8' });
  await secret.close();
  symlinkSync('../secret.b2nd', join(dir, 'in/link.b2nd'));
  await rejects(gh.openContainer(containerFile(join(dir, 'in/link.b2nd'))), lib.NotAllowedError);
  const files = new NodeFileSystem(join(dir, 'in'));
  for (const name of ['../secret.b2nd', 'a/../../secret.b2nd', '', 'a//b']) {
    await rejects((async () => files.open(name, 1))(), lib.InvalidError, name);
  }
  for (const flags of [1, 2, 2 | 4, 2 | 16]) await rejects((async () => files.open('link.b2nd', flags))(), lib.NotAllowedError);
  equal(files.names(''), []);
});

test('a directory takes the place of no other', async () => {
  const root = join(dir, 'renamed');
  for (const name of ['', 'new', 'old']) mkdirSync(join(root, name));
  writeFileSync(join(root, 'file'), '');
  const files = new NodeFileSystem(root);
  for (const replace of [true, false]) {
    for (const name of ['new', 'file']) await rejects((async () => files.rename(name, 'old', replace))(), lib.ExistsError);
  }
  files.remove('old');
  files.rename('new', 'old', true);
  equal(files.names(''), ['file', 'old/']);
});

test('containers over HTTP and in a file that was chosen', async () => {
  const server = createServer((request, response) => {
    let bytes;
    try {
      bytes = readFileSync(join(containers, request.url));
    } catch {
      return response.writeHead(404).end();
    }
    const range = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? '');
    if (range === null) return response.writeHead(200, { 'content-length': bytes.length }).end(bytes);
    const from = range[1] === '' ? bytes.length - Number(range[2]) : Number(range[1]);
    const to = range[1] === '' || range[2] === '' ? bytes.length : Math.min(Number(range[2]) + 1, bytes.length);
    response.writeHead(206, { 'content-range': `bytes ${from}-${to - 1}/${bytes.length}` }).end(bytes.subarray(from, to));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const url = `http://127.0.0.1:${server.address().port}`;
    const want = (await gh.openContainer(at('ndim/2d.b2nd')).then((a) => a.slice())).data;
    const array = await gh.openContainer(`${url}/ndim/2d.b2nd`);
    equal((await array.slice()).data, want);
    await rejects(array.setSlice([0], new Int32Array(67)), lib.ReadOnlyError);
    const tree = await gh.openContainer(`${url}/store/tree.b2z`);
    const { keys } = entries.find((e) => e.file === 'store/tree.b2z');
    const key = Object.keys(keys).find((k) => keys[k].type !== 'TreeStore');
    equal(await sha256(await whole(await tree.get(key))), keys[key].sha256);
    await rejects(gh.openContainer(`${url}/none.b2nd`), lib.NotFoundError);
    const blob = new Blob([readFileSync(join(containers, 'ndim/2d.b2nd'))]);
    const chosen = await gh.openContainer(lib.blobStore(blob), { path: 'chosen' });
    equal((await chosen.slice()).data, want);
    await rejects(gh.openContainer(lib.blobStore(blob)), lib.InvalidError);
  } finally {
    server.close();
    server.closeAllConnections();
  }
});
