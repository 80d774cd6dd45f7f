// Arrays that other libraries wrote.
import { equal, ok, rejects, sha256 } from '../check.mjs';

const whole = (arr) => arr.retrieveRegion(arr.shape.map(() => 0), arr.shape);

export const fixtures = {
  async 'all peer-made arrays decode to the stated sha256'({ load, fixtures, manifest }) {
    const gh = await load();
    const arrays = manifest.arrays.filter((a) => a.node_type !== 'group');
    equal(arrays.length, 235);
    for (const { name, path, shape, sha256: sum, zarr_format: format } of arrays) {
      const arr = await gh.openArray(fixtures, { path });
      equal([arr.shape, arr.info.zarr_format], [shape, format], name);
      equal(await sha256((await whole(arr)).bytes), sum, name);
      arr.close();
    }
  },

  async 'peer-made groups, listed and by consolidated metadata'({ load, fixtures, manifest, lib }) {
    const gh = await load();
    const groups = manifest.arrays.filter((a) => a.node_type === 'group');
    equal(groups.length, 4);
    for (const { name, path, children_sha256: sums, attributes, zarr_format: format, consolidated } of groups) {
      const group = await gh.openGroup(fixtures, { path });
      equal(group.info.zarr_format, format, name);
      if (attributes !== undefined) equal(group.attributes, attributes, name);
      const listed = await group.list();
      const arrays = listed.filter((entry) => entry.kind === 'array').map((entry) => entry.path.slice(path.length + 1));
      equal(arrays, Object.keys(sums), name);
      for (const [child, sum] of Object.entries(sums)) {
        const arr = await group.open(child);
        ok(arr instanceof lib.GridArray, `${name}/${child}`);
        equal(await sha256((await whole(arr)).bytes), sum, `${name}/${child}`);
      }
      if (!consolidated) continue;
      equal(await gh.list(fixtures, { path, consolidated: true }), listed, `${name}, consolidated`);
    }
  },

  async 'consolidated metadata is used where it is asked for, and only there'({ load, fixtures, lib }) {
    const gh = await load();
    for (const [path, child, key] of [['group_consolidated', 'sub/c', 'zarr.json'], ['group_v2', 'a', '.zarray']]) {
      const asked = [];
      // As over HTTP: no lists. And no metadata but that of the root.
      const store = {
        read: (at, ...rest) => {
          asked.push(at);
          return at === `${child}/${key}` ? undefined : fixtures.read(`${path}/${at}`, ...rest);
        },
      };
      await rejects(gh.openArray(store, { path: child }), lib.NotFoundError, path);
      await rejects(gh.list(store), lib.UnsupportedError, path);
      const group = await gh.openGroup(store, { consolidated: true });
      ok((await group.list()).some((entry) => entry.path === child), `${path} lists ${child}`);
      asked.length = 0;
      const arr = await group.open(child);
      ok(!asked.some((at) => at.startsWith(child)), `${path}: asked for ${asked}`);
      equal((await whole(arr)).shape, arr.shape, path);
      await rejects(gh.openGroup(store, { path: child, consolidated: true }), lib.InvalidError, `${path}: another kind`);
      await rejects(gh.open(store, { path: 'nothing', consolidated: true }), lib.NotFoundError, path);
    }
  },

  async 'an OME-Zarr pyramid says what it is made of'({ load, fixtures }) {
    const gh = await load();
    const group = await gh.openGroup(fixtures, { path: 'ome_pyramid' });
    const [{ axes, levels }] = group.multiscales;
    equal(axes.map(({ name }) => name).join(''), 'tczyx');
    equal(levels.map(({ path, scale }) => [path, scale.at(-1)]), [['0', 0.5], ['1', 1], ['2', 2]]);
    equal((await gh.openGroup(fixtures, { path: 'group_plain' })).multiscales, []);
  },

  async 'damaged arrays are refused, by whole reads and by subchunks'({ load, fixtures, corrupt, lib }) {
    const gh = await load();
    const { CorruptError, InvalidError, IOError, LimitError, UnsupportedError } = lib;
    const refusals = [CorruptError, InvalidError, IOError, LimitError, UnsupportedError];
    const damaged = corrupt.filter(({ expect }) => expect.startsWith('reject'));
    ok(damaged.length >= 60, `${damaged.length} entries`);
    for (const { name, path } of damaged) {
      const refused = (error, what) => {
        const known = refusals.some((type) => error instanceof type);
        ok(known && !error.message.includes('\n'), `${name}, ${what}: ${error?.stack ?? error}`);
      };
      let arr;
      try {
        arr = await gh.openArray(fixtures, { path });
      } catch (error) {
        refused(error, 'open');
        continue;
      }
      refused(await whole(arr).catch((error) => error), 'whole');
      let failed = 0;
      for (const index of grid(arr.subchunkGridShape, 64)) {
        await arr.retrieveSubchunk(index).catch((error) => {
          failed++;
          refused(error, `subchunk ${index}`);
        });
      }
      ok(failed > 0, `${name}: all subchunks are read`);
    }
    for (const { name, path, base } of corrupt.filter(({ expect }) => expect.startsWith('reads'))) {
      const [arr, good] = await Promise.all([path, base].map((at) => gh.openArray(fixtures, { path: at })));
      equal((await whole(arr)).shape, (await whole(good)).shape, name);
    }
    ok(gh.memorySize < 400 * 2 ** 20, `memory: ${gh.memorySize}`);
  },

  async 'peer-made subchunks: bytes as stored'({ load, fixtures, manifest }) {
    const gh = await load();
    const wanted = manifest.arrays.filter((a) => a.shards?.some?.length > 0 && a.exclusively_sharded);
    ok(wanted.length > 100, `${wanted.length} arrays`);
    for (const { name, path, shards } of wanted) {
      const arr = await gh.openArray(fixtures, { path });
      const shardCache = arr.shardCache();
      const places = await arr.locateSubchunks(shards.some.map((s) => s.subchunk), { shardCache });
      for (const [i, { subchunk: index, sha256_encoded: sum, empty, ...at }] of shards.some.entries()) {
        const encoded = await arr.retrieveEncodedSubchunk(index, { shardCache });
        equal(encoded && (await sha256(encoded)), empty ? undefined : sum, `${name} ${index}`);
        const place = places[i] && [places[i].key, places[i].offset, places[i].length];
        equal(place, empty ? undefined : [`${path}/${at.shard_key}`, at.offset, at.length], `${name} ${index} lies`);
      }
      arr.close();
    }
  },

  async 'arrays of no dimensions and of no elements'({ load, fixtures, manifest }) {
    const gh = await load();
    for (const { path, sha256: sum } of manifest.arrays.filter((a) => a.shape?.length === 0)) {
      const arr = await gh.openArray(fixtures, { path });
      const one = await arr.retrieveSubchunk([]);
      equal([one.shape, one.data.length, await sha256(one.bytes)], [[], 1, sum], path);
      equal((await arr.retrieveRegion([], [])).data, one.data, path);
      equal(await arr.retrieveSubchunks([[], []]), [one, one], path);
    }
    const { path, shape } = manifest.arrays.find((a) => a.shape?.includes(0));
    const arr = await gh.openArray(fixtures, { path });
    equal((await arr.retrieveRegion(shape.map(() => 0), shape)).data.length, 0, path);
    equal(arr.subchunkGridShape.includes(0), true, 'no subchunks');
  },
};

/** The first places of a grid. */
function* grid(shape, most) {
  const total = shape.reduce((n, length) => n * length, 1);
  for (let k = 0; k < Math.min(total, most); k++) {
    let rest = k;
    const index = [];
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      index[axis] = rest % shape[axis];
      rest = Math.floor(rest / shape[axis]);
    }
    yield index;
  }
}
