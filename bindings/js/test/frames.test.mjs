// What is done to whole frames: copies, snapshots, axes, checksums, watching, repair, aborts.
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import * as lib from '@gridhold/gridhold';
import { containerFile } from '@gridhold/gridhold/node';

import { equal, ok, rejects } from './check.mjs';

const containers = fileURLToPath(new URL('../../../testdata/blosc2/', import.meta.url));

let gh;
let dir;
before(async () => {
  gh = await lib.Gridhold.load({ memory: 400 << 20 });
  dir = mkdtempSync(join(tmpdir(), 'gridhold-'));
});
after(() => {
  gh.close();
  rmSync(dir, { recursive: true });
});

const at = (name) => containerFile(join(dir, name));
const counted = (n) => Int32Array.from({ length: n }, (_, i) => i);

test('axes of one item', async () => {
  const array = await gh.createArray(at('axes.b2nd'), { shape: [1, 6, 1, 4], dtype: 'int32', data: counted(24) });
  await array.squeeze(2);
  equal(array.shape, [1, 6, 4]);
  await array.squeeze();
  equal(array.shape, [6, 4]);
  await array.squeeze([]);
  await array.expandDims([0, -1]);
  equal([array.shape, (await array.slice()).data], [[1, 6, 4, 1], counted(24)]);
  await rejects((async () => array.squeeze(4))(), lib.InvalidError);
  await rejects(array.squeeze(1), lib.GridholdError, 'an axis of 6');
  await array.close();
  const again = await gh.openContainer(at('axes.b2nd'));
  equal(again.shape, [1, 6, 4, 1]);
  await again.close();
});

test('copies', async () => {
  const options = { shape: [30, 20], dtype: 'int32', chunks: [10, 20], blocks: [5, 10], data: counted(600), cparams: { codec: 'lz4' } };
  const array = await gh.createArray(at('from.b2nd'), options);
  await array.vlmeta.set('unit', 'mm');
  const same = await array.copy(at('same.b2nd'));
  ok(same instanceof lib.NDArray, 'its class');
  equal([same.shape, same.chunks, (await same.slice()).data, await same.vlmeta.get('unit')], [[30, 20], [10, 20], counted(600), 'mm']);
  equal((await same.info()).codec, 'lz4');
  await rejects(array.copy(at('same.b2nd')), lib.ExistsError);
  await array.setSlice([0, 0], Int32Array.of(-1));
  const other = await array.copy(at('same.b2nd'), { mode: 'w', chunks: [7, 7], blocks: [7, 7], cparams: { codec: 'zstd', clevel: 1 }, checksums: true });
  equal([other.chunks, (await other.slice([0, 0])).data[0], (await other.info()).codec], [[7, 7], -1, 'zstd']);
  const held = await array.copy(); // in memory
  await held.setSlice([0, 0], Int32Array.of(-2));
  equal([(await held.slice([0, 0])).data[0], (await array.slice([0, 0])).data[0]], [-2, -1]);
  for (const each of [same, other, held, array]) await each.close();
  const s = await gh.createSChunk(at('s.b2frame'), { typesize: 4, chunksize: 400, data: counted(250) });
  const packed = await s.copy(undefined, { contiguous: true });
  const chunks = [];
  for await (const chunk of packed.iterChunks()) chunks.push(chunk.length);
  equal(chunks, [400, 400, 200]);
  await packed.close();
  await s.close();
});

test('a snapshot stays what it is', async () => {
  const array = await gh.createArray(at('now.b2nd'), { shape: [100], dtype: 'int32', chunks: [10], data: counted(100) });
  const snapshot = await array.snapshot();
  await array.setSlice([{ start: 0, stop: 50 }], new Int32Array(50));
  await array.resize([60]);
  equal((await snapshot.slice()).data, counted(100));
  equal((await array.slice()).data.length, 60);
  await rejects(snapshot.setSlice([0], Int32Array.of(1)), lib.GridholdError);
  await snapshot.close();
  await array.close();
});

test('checksums', async () => {
  const array = await gh.createArray(at('sums.b2nd'), { shape: [100], dtype: 'int32', chunks: [10], data: counted(100), checksums: true });
  equal((await array.verify()).damaged, []);
  const kept = async () => (await array.info()).checksums;
  equal(await kept(), 'hold');
  await array.keepChecksums(false);
  equal(await kept(), undefined);
  await array.keepChecksums();
  equal(await kept(), 'hold');
  await array.close();
});

test('watching, until an abort or a break', async () => {
  const writer = await gh.createArray(at('grows.b2nd'), { shape: [10], dtype: 'int32', data: counted(10) });
  const reader = await gh.openContainer(at('grows.b2nd'));
  const shapes = [];
  for await (const tick of reader.watch({ interval: 1 })) {
    shapes.push(reader.shape[0]);
    if (shapes.length === 4) break;
    ok(tick >= 0, 'a count');
    await writer.append(Int32Array.of(7));
  }
  equal(shapes, [10, 11, 12, 13]);
  const controller = new AbortController();
  const watching = (async () => {
    for await (const _ of reader.watch({ interval: 60_000, signal: controller.signal })) controller.abort();
  })();
  equal((await rejects(watching, DOMException)).name, 'AbortError');
  await reader.close();
  await writer.close();
});

test('what another program wrote over is put back', async () => {
  const path = join(dir, 'over.b2frame');
  const s = await gh.createSChunk(containerFile(path), { typesize: 4, chunksize: 40, data: counted(10) });
  const header = readFileSync(path).subarray(0, readFileSync(path).readInt32BE(12));
  await rejects(s.repair(), lib.NotFoundError);
  await s.append(counted(10));
  await s.close();
  writeFileSync(path, Buffer.concat([header, readFileSync(path).subarray(header.length)]));
  const options = { mode: 'a', repair: true };
  const repaired = await gh.openContainer(containerFile(path), options);
  equal(new Int32Array((await repaired.getSlice()).buffer), Int32Array.of(...counted(10), ...counted(10)));
  await repaired.close();
  await rejects(gh.openContainer('http://127.0.0.1:1/a.b2nd', options), lib.InvalidError);
});

test('an abort ends opening and making', async () => {
  copyFileSync(join(containers, 'ndim/2d.b2nd'), join(dir, '2d.b2nd'));
  const signal = AbortSignal.abort();
  const opening = { signal };
  await rejects(gh.openContainer(at('2d.b2nd'), opening), DOMException);
  await rejects(gh.createArray(at('not.b2nd'), { shape: [1], dtype: 'int32', ...opening }), DOMException);
  await rejects(gh.openContainer(at('not.b2nd')), lib.NotFoundError);
  const controller = new AbortController();
  const later = gh.openContainer(at('2d.b2nd'), { signal: controller.signal });
  controller.abort();
  await rejects(later, DOMException);
  const open = await gh.openContainer(at('2d.b2nd'), { signal: new AbortController().signal });
  await open.close();
});
