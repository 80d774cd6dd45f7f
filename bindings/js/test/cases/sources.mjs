// Pyramids, and whatever else things are opened from: files that a user chose, archives, plain objects.
import { MemoryStore, shardedArray } from '../arrays.mjs';
import { equal, ok, rejects, sha256 } from '../check.mjs';

const utf8 = (value) => new TextEncoder().encode(JSON.stringify(value));

/** A file of testdata, as a user would choose it. */
async function chosen(store, folder, path) {
  const { data: [bytes] } = await store(folder).read(path, [{ offset: 0 }], undefined, new AbortController().signal);
  return new File([bytes], path.split('/').at(-1));
}

export const sources = {
  async 'a pyramid of 0.5, from coarse to fine'({ load, fixtures, lib, url }) {
    const gh = await load();
    for (const source of [fixtures, `${url}zarr`]) {
      const image = await gh.openMultiscale(source, { path: 'ome_pyramid' });
      equal([image.name, image.length, image.axes.map(({ name }) => name).join('')], ['img', 3, 'tczyx']);
      equal([image.scale(1).at(-1), image.translation(0).length, image.levels[2].shape.length], [1, 5, 5]);
      equal([image.levelFor({ x: 1, y: 1 }), image.levelFor({ x: 0.7 }), image.levelFor({ x: 9 }), image.levelFor({ x: 0.1 })], [1, 0, 2, 0]);
      for (const [level, array] of image.levels.entries()) {
        const all = await image.retrieveRegion(level, array.shape.map(() => 0), array.shape);
        equal(all.data, (await array.retrieveRegion(array.shape.map(() => 0), array.shape)).data, `level ${level}`);
        ok((await image.retrieveSubchunk(level, array.shape.map(() => 0))).data.length > 0, 'a subchunk');
      }
      await rejects(image.retrieveRegion(3, [], []), lib.OutOfRangeError);
      await rejects(image.retrieveRegion(0, [0, 0, 0, 0, 0], [1, 1, 1, 1, 1], { signal: AbortSignal.abort() }), DOMException);
      image.close();
      image.close();
      await rejects(image.retrieveRegion(0, [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]), lib.ClosedError);
    }
    await rejects(gh.openMultiscale(fixtures, { path: 'group_plain' }), lib.InvalidError);
  },

  async 'a pyramid of 0.4, one without a level, one of another number of axes'({ load, lib }) {
    const gh = await load();
    const dataset = (path, scale) => ({ path, coordinateTransformations: [{ type: 'scale', scale: [scale, scale] }] });
    const axes = [{ name: 'y', type: 'space' }, { name: 'x', type: 'space' }];
    const level = (n) => ({
      zarr_format: 2, shape: [n, n], chunks: [n, n], dtype: '<u2', compressor: null, fill_value: n, order: 'C', filters: null, dimension_separator: '/',
    });
    const objects = new Map([
      ['.zgroup', utf8({ zarr_format: 2 })],
      ['.zattrs', utf8({ multiscales: [{ version: '0.4', axes, datasets: [dataset('0', 1), dataset('1', 2)] }] })],
      ['0/.zarray', utf8(level(4))],
      ['1/.zarray', utf8(level(2))],
    ]);
    const image = await gh.openMultiscale(new MemoryStore(objects));
    equal([image.length, image.scale(1), image.levels.map(({ shape }) => shape[0])], [2, [2, 2], [4, 2]]);
    equal((await image.retrieveRegion(1, [0, 0], [1, 2])).data, Uint16Array.of(2, 2));
    image.close();
    const without = new Map(objects);
    without.delete('1/.zarray');
    await rejects(gh.openMultiscale(new MemoryStore(without)), lib.NotFoundError);
    const flat = new Map(objects).set('1/.zarray', utf8({ ...level(2), shape: [2], chunks: [2] }));
    await rejects(gh.openMultiscale(new MemoryStore(flat)), lib.InvalidError);
  },

  async 'files that a user chose'({ load, store, images, containers, lib }) {
    const gh = await load();
    const array = await gh.openContainer(await chosen(store, 'blosc2', 'ndim/2d.b2nd'));
    equal(await sha256((await array.slice()).bytes), containers.find(({ file }) => file === 'ndim/2d.b2nd').sha256);
    await array.close();
    const file = 'mode2_le_7x16x16.mrcs';
    const stack = await gh.openStack(await chosen(store, 'images', file));
    equal(await sha256((await stack.image(3)).bytes), images.files.find((entry) => entry.file === file).image_sha256[3]);
    stack.close();
    const [table] = images.tables;
    equal((await gh.readTable(await chosen(store, 'images', table.file))).rows.length, table.locations.length);
    const archive = await chosen(store, 'requests', 'small.zip');
    for (const source of [archive, lib.zipStore(archive), lib.zipStore(lib.blobStore(archive), 'any.zip')]) {
      const group = await gh.openGroup(source);
      const inner = await group.open('a');
      equal((await inner.retrieveSubchunk([1, 2])).data[1], (31 * 2 + 7) % 256);
    }
    await rejects(gh.openArray(new Blob(['no archive'])), lib.CorruptError);
    await rejects(gh.openContainer(new Blob(['no container'])), lib.CorruptError);
  },

  async 'an archive behind a URL'({ load, url }) {
    const gh = await load();
    const arr = await gh.openArray(`zip://${url}requests/small.zip`, { path: 'a' });
    equal((await arr.retrieveSubchunk([1, 2])).data[1], (31 * 2 + 7) % 256);
  },

  async 'a plain object is a store'({ load }) {
    const gh = await load();
    const objects = await shardedArray();
    const read = (key, ranges) => {
      const bytes = objects.get(key);
      return bytes && { data: ranges.map((r) => ('suffix' in r ? bytes.slice(-r.suffix) : bytes.slice(r.offset, r.length && r.offset + r.length))) };
    };
    const arr = await gh.openArray({ read });
    equal((await arr.retrieveSubchunk([1, 1])).data[0], 4004);
  },
};
