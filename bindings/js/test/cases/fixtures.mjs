// Arrays that other libraries wrote.
import { equal, ok, sha256 } from '../check.mjs';

export const fixtures = {
  async 'peer-made arrays decode to the stated sha256'({ load, fixtures, manifest }) {
    const gh = await load();
    const wanted = pick(manifest.arrays.filter((a) => a.sha256 && a.data_type), 40);
    ok(wanted.length >= 20, `only ${wanted.length} fixtures`);
    for (const { name, path, shape, sha256: sum } of wanted) {
      const arr = await gh.openArray(fixtures, { path });
      equal(arr.shape, shape, name);
      const { data } = await arr.retrieveRegion(shape.map(() => 0), shape);
      equal(await sha256(data), sum, name);
    }
  },

  async 'peer-made subchunks: bytes as stored'({ load, fixtures, manifest }) {
    const gh = await load();
    const wanted = pick(manifest.arrays.filter((a) => a.shards?.some?.length > 0 && a.exclusively_sharded), 20);
    for (const { name, path, shards } of wanted) {
      const arr = await gh.openArray(fixtures, { path });
      const cache = arr.shardCache();
      for (const { subchunk: index, sha256_encoded: sum } of shards.some) {
        const encoded = await arr.retrieveEncodedSubchunk(index, { shardCache: cache });
        equal(encoded && (await sha256(encoded)), sum, `${name} ${index}`);
      }
    }
  },

  async 'each data type has its typed array'({ load, fixtures, manifest }) {
    const gh = await load();
    const half = globalThis.Float16Array ?? Uint16Array;
    const types = {
      bool: Uint8Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, int32: Int32Array,
      uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, float16: half, float32: Float32Array,
      float64: Float64Array, complex64: Float32Array, complex128: Float64Array,
    };
    for (const [dtype, type] of Object.entries(types)) {
      const { path, shape } = manifest.arrays.find((a) => a.data_type === dtype);
      const arr = await gh.openArray(fixtures, { path });
      const { data } = await arr.retrieveRegion(shape.map(() => 0), shape);
      equal([arr.dtype, data.constructor.name], [dtype, type.name]);
      const elements = shape.reduce((n, length) => n * length, dtype.startsWith('complex') ? 2 : 1);
      equal(data.length, elements, dtype);
    }
  },

  async 'arrays of no dimensions and of no elements'({ load, fixtures, manifest }) {
    const gh = await load();
    for (const { path, data_type: dtype, sha256: sum } of manifest.arrays.filter((a) => a.shape?.length === 0)) {
      const arr = await gh.openArray(fixtures, { path });
      const one = await arr.retrieveSubchunk([]);
      equal([one.shape, one.dtype, await sha256(one.data)], [[], dtype, sum], path);
      equal((await arr.retrieveRegion([], [])).data, one.data, path);
    }
    const { path, shape } = manifest.arrays.find((a) => a.shape?.includes(0));
    const arr = await gh.openArray(fixtures, { path });
    equal((await arr.retrieveRegion(shape.map(() => 0), shape)).data.length, 0, path);
    equal(arr.subchunkGridShape.includes(0), true, 'no subchunks');
  },
};

/** Evenly chosen, so that every kind of fixture has its turn. */
function pick(list, n) {
  return list.length <= n ? list : Array.from({ length: n }, (_, i) => list[Math.floor((i * list.length) / n)]);
}
