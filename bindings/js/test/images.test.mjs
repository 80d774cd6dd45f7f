// Stacks, tables and scratches of images: what the manifest says of each, by its hash.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import * as lib from '@gridhold/gridhold';
import { NodeFileSystem, containerFile, fileStore } from '@gridhold/gridhold/node';

import { equal, ok, rejects, sha256 } from './check.mjs';

const { Gridhold } = lib;
const images = fileURLToPath(new URL('../../../testdata/images/', import.meta.url));
const manifest = JSON.parse(readFileSync(join(images, 'manifest.json'), 'utf8'));

let gh;
before(async () => {
  gh = await Gridhold.load({ memory: 400 << 20 });
});
after(() => gh.close());

const ways = {
  files: (name) => [containerFile(join(images, name)), {}],
  store: (name) => [fileStore(images), { path: name }],
};

for (const [way, of] of Object.entries(ways)) {
  test(`every image, from ${way}`, async () => {
    let read = 0;
    for (const entry of manifest.files) {
      const [source, options] = of(entry.file);
      if (entry.expect.startsWith('error:')) {
        const began = process.cpuUsage();
        const error = await rejects(gh.openStack(source, options), lib.GridholdError);
        ok(error instanceof lib.CorruptError || error instanceof lib.UnsupportedError, error.code);
        ok(error.message.includes(entry.expect.slice(6).replaceAll('-', ' ')), error.message);
        const { user, system } = process.cpuUsage(began);
        ok(user + system < 20e6, entry.file);
        continue;
      }
      const stack = await gh.openStack(source, options);
      if (entry.expect === 'ok:0-images') {
        equal(stack.length, 0);
        continue;
      }
      const all = await stack.read(0, stack.length);
      const size = all.bytes.length / entry.image_sha256.length;
      for (const [i, want] of entry.image_sha256.entries()) {
        equal(await sha256(all.bytes.subarray(i * size, (i + 1) * size)), want, `${entry.file} ${i}`);
        read++;
      }
      const last = await stack.image(stack.length - 1);
      equal(last.shape, stack.imageShape);
      equal(await sha256(last.bytes), await sha256(all.bytes.subarray(all.bytes.length - last.bytes.length)));
      await rejects(stack.image(stack.length), lib.OutOfRangeError);
      stack.close();
      await rejects(stack.image(0), lib.ClosedError);
    }
    ok(read > 400, `${read} images`);
  });

  test(`every row, from ${way}`, async () => {
    for (const table of manifest.tables) {
      const { rows } = await gh.readTable(...of(table.file));
      equal(rows.map((r) => [r.path, r.index]), table.locations);
    }
  });
}

test('a scratch in memory', async () => {
  const file = 'mode2_le_7x16x16.mrcs';
  const { image_sha256: hashes } = manifest.files.find((e) => e.file === file);
  const locations = hashes.map((_, index) => ({ path: file, index }));
  for (const source of [fileStore(images), { files: new NodeFileSystem(images) }]) {
    const scratch = await gh.createHostImageScratch(locations, 2, undefined, { source });
    await scratch.prefetch();
    const before = await scratch.stats();
    equal(before.present, 7);
    const all = await scratch.read([...locations].reverse());
    equal(all.shape, [7, 16, 16]);
    for (const [i, want] of hashes.entries()) equal(await sha256(all.bytes.subarray((6 - i) * 1024, (7 - i) * 1024)), want);
    equal((await scratch.stats()).source_reads, before.source_reads);
    await rejects(scratch.read([{ path: file, index: 7 }]), lib.OutOfRangeError);
    await rejects(scratch.read([{ path: 'x', index: 7 }]), lib.InvalidError);
    scratch.close();
    await rejects(scratch.read(locations), lib.ClosedError);
  }
  await rejects(gh.createHostImageScratch([], 2, undefined, { source: fileStore(images) }), lib.InvalidError);
});

test('epochs and patches', async () => {
  const file = 'mode2_le_7x16x16.mrcs';
  const locations = Array.from({ length: 7 }, (_, index) => ({ path: file, index }));
  const scratch = await gh.createHostImageScratch(locations, 2, undefined, { source: fileStore(images) });
  const all = await scratch.read(locations);
  const epoch = async (size, options) => {
    const rows = [];
    for await (const batch of scratch.batches(locations, size, options)) {
      for (const [i, row] of batch.rows.entries()) {
        equal(batch.images.bytes.subarray(i * 1024, (i + 1) * 1024), all.bytes.subarray(row * 1024, (row + 1) * 1024));
      }
      rows.push([...batch.rows]);
    }
    return rows;
  };
  equal(await epoch(3), [[0, 1, 2], [3, 4, 5], [6]]);
  equal(await epoch(3, { dropLast: true, shard: [1, 2] }), [[1, 3, 5]]);
  equal(await epoch(4, { shuffle: true, seed: 3 }), [[4, 3, 6, 2], [0, 5, 1]]); // as Go has it
  equal(await epoch(4, { shuffle: true, seed: 2n ** 64n - 1n, epoch: 5 }), [[3, 6, 1, 2], [4, 5, 0]]);
  for await (const { rows } of scratch.batches(locations, 2)) if (rows[0] === 2) break;
  await rejects(epoch(0), lib.InvalidError);
  await rejects(epoch(1, { shard: [2, 2] }), lib.InvalidError);
  const ended = AbortSignal.abort();
  await rejects(epoch(1, { signal: ended }), DOMException);

  const centres = [[4, 6], [0, 0], [15, 15], [-3, 5], [4, 100], [-100, -100], [16, 6]];
  for (const [h, w] of [[4, 4], [5, 3], [1, 1], [30, 40]]) {
    const got = await scratch.readPatches(locations[3], [h, w], centres, { fill: -7.5 });
    equal(got.shape, [centres.length, h, w]);
    let i = 0;
    for (const [cy, cx] of centres) {
      for (let y = cy - Math.floor(h / 2), n = h; n-- > 0; y++) {
        for (let x = cx - Math.floor(w / 2), m = w; m-- > 0; x++) {
          equal(got.data[i++], y >= 0 && x >= 0 && y < 16 && x < 16 ? all.data[(3 * 16 + y) * 16 + x] : -7.5);
        }
      }
    }
  }
  const volume = await scratch.readPatches({ path: file, index: null }, [2, 2, 2], [[7, 1, 1]], { fill: 1 });
  equal([...volume.data], [...all.data.subarray(6 * 256, 6 * 256 + 2), ...all.data.subarray(6 * 256 + 16, 6 * 256 + 18), 1, 1, 1, 1]);
  for (const [extent, around] of [[[1], [[1, 1]]], [[1, 1], [[1]]], [[0, 1], [[1, 1]]], [[1, 1], [[0.5, 1]]], [[2 ** 40, 2 ** 40], [[1, 1]]]]) {
    await rejects(scratch.readPatches(locations[0], extent, around), lib.InvalidError);
  }
  scratch.close();
});

// What the command fills, a guest in Node reads; pixels that are wrong are never given.
test('a scratch file of another program', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'gridhold-'));
  after(() => rmSync(dir, { recursive: true }));
  const file = 'mode2_le_7x16x16.mrcs';
  const { image_sha256: hashes } = manifest.files.find((e) => e.file === file);
  const path = join(images, file);
  const made = spawnSync('go', ['run', './cmd/gridhold', 'scratch', 'fill', '--run-length', '2', join(dir, 'scr'), path], {
    cwd: fileURLToPath(new URL('../../../', import.meta.url)), encoding: 'utf8',
  });
  if (made.error) return t.skip('there is no go here');
  equal(made.status, 0, made.stderr);
  const whole = [{ path, index: null }];
  const files = { source: { files: new NodeFileSystem('/') } };
  const scratch = await gh.openImageScratch(containerFile(join(dir, 'scr')), whole, 2, files);
  const all = await scratch.read(whole);
  for (const [i, want] of hashes.entries()) equal(await sha256(all.bytes.subarray(i * 1024, (i + 1) * 1024)), want);
  const stats = await scratch.stats();
  equal([stats.hits, stats.source_reads, stats.filled], [7, 0, 0]);
  await rejects(gh.openImageScratch(containerFile(join(dir, 'none')), whole, 2, files), lib.NotFoundError);
});

test('locations', () => {
  equal(lib.parseLocation('000003@a@b'), { path: 'a@b', index: 2 });
  equal(lib.parseLocation('a'), { path: 'a', index: null });
  for (const text of ['0@x', 'a@x', '@x', '1@', '', '-1@x']) {
    let code;
    try {
      lib.parseLocation(text);
    } catch (error) {
      code = error.code;
    }
    equal(code, 'Invalid', text);
  }
});
