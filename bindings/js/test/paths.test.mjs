// In Node a path is a source.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import * as lib from '@gridhold/gridhold';

import { equal, ok, rejects } from './check.mjs';

const testdata = new URL('../../../testdata/', import.meta.url);
const path = (name) => fileURLToPath(new URL(name, testdata));
const gh = await lib.Gridhold.load();
const dir = mkdtempSync(join(tmpdir(), 'gridhold-'));
after(() => {
  gh.close();
  rmSync(dir, { recursive: true });
});

test('arrays, by a path, a relative one, the URL of one, and in an archive', async () => {
  const where = path('zarr/dtype_int4');
  const want = (await (await gh.openArray(where)).retrieveRegion([0, 0], [1, 4])).data;
  for (const source of [relative(process.cwd(), where), new URL('zarr/dtype_int4', testdata), new URL('zarr/dtype_int4', testdata).href]) {
    const array = await gh.openArray(source);
    equal((await array.retrieveRegion([0, 0], [1, 4])).data, want, `${source}`);
    array.close();
  }
  const inArchive = await gh.openArray(path('requests/small.zip'), { path: 'a' });
  equal((await inArchive.retrieveSubchunk([1, 2])).data[1], (31 * 2 + 7) % 256);
  equal((await gh.openMultiscale(path('zarr/ome_pyramid'))).length, 3);
  ok((await gh.list(path('zarr/ome_pyramid'))).length >= 3, 'a list');
  await rejects(gh.openArray(join(dir, 'none')), lib.NotFoundError);
  await rejects(gh.openArray(dir), lib.NotFoundError);
});

test('containers, stacks and tables', async () => {
  const name = join(dir, 'a b#c.b2nd');
  const made = await gh.createArray(name, { shape: [3], dtype: 'int32', data: Int32Array.of(1, 2, 3) });
  await made.close();
  const array = await gh.openContainer(name, { mode: 'a' });
  await array.append(Int32Array.of(4));
  equal((await array.slice()).data, Int32Array.of(1, 2, 3, 4));
  await array.close();
  const inStore = await gh.openContainer(path('blosc2'), { path: 'ndim/2d.b2nd' });
  equal(inStore.shape, [45, 67]);
  await inStore.close();
  const stack = await gh.openStack(path('images/mode2_le_7x16x16.mrcs'));
  equal([stack.length, stack.imageShape], [7, [16, 16]]);
  stack.close();
  ok((await gh.readTable(path('images/relion31.star'))).rows.length > 0, 'rows');
});
