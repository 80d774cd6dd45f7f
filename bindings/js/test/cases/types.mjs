// What elements of each data type come as.
import { MemoryStore } from '../arrays.mjs';
import { equal, ok, rejects } from '../check.mjs';

const utf8 = (text) => new TextEncoder().encode(text);
const counts = [2n, 2n, 3n, 11n, 7n, 7n, 18n, 18n, 15n].map((n) => n * 86400n);

/** A stored array of one chunk. */
function plainArray(dtype, bytes, { shape, fill, codec = { name: 'bytes', configuration: { endian: 'little' } } }) {
  const metadata = {
    zarr_format: 3,
    node_type: 'array',
    shape,
    data_type: dtype,
    chunk_grid: { name: 'regular', configuration: { chunk_shape: shape } },
    chunk_key_encoding: { name: 'v2', configuration: { separator: '.' } },
    fill_value: fill,
    codecs: [codec],
  };
  return new MemoryStore(new Map([['zarr.json', utf8(JSON.stringify(metadata))], ['0', bytes]]));
}

/** Reads all of a fixture. */
async function read(gh, fixtures, path) {
  const arr = await gh.openArray(fixtures, { path });
  return arr.retrieveRegion(arr.shape.map(() => 0), arr.shape);
}

export const types = {
  async 'each number has its typed array'({ load, fixtures, manifest }) {
    const gh = await load();
    const views = {
      bool: Uint8Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, int32: Int32Array,
      uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, float16: globalThis.Float16Array ?? Uint16Array,
      float32: Float32Array, float64: Float64Array, complex64: Float32Array, complex128: Float64Array,
      int4: Int8Array, bfloat16: Uint16Array, float8_e4m3fn: Uint8Array,
    };
    for (const [dtype, type] of Object.entries(views)) {
      const { path, shape } = manifest.arrays.find((a) => a.data_type === dtype);
      const { data, bytes, dtype: name } = await read(gh, fixtures, path);
      equal([name, data.constructor.name], [dtype, type.name]);
      const elements = shape.reduce((n, length) => n * length, dtype.startsWith('complex') ? 2 : 1);
      equal([data.length, data.byteLength], [elements, bytes.length], dtype);
    }
    equal((await read(gh, fixtures, 'dtype_int4')).data.slice(0, 10), Int8Array.of(2, 2, 3, 3, 7, 7, 2, 2, 7, 6));
  },

  async 'strings and byte strings'({ load, fixtures }) {
    const gh = await load();
    const words = ['', 'a', 'zarr', 'naïve', '日本語', '🙂 emoji'];
    for (const path of ['dtype_string', 'dtype_string_plain', 'dtype_string_zarrs']) {
      const { data, type } = await read(gh, fixtures, path);
      equal([data.length, data.slice(0, 6), type], [64, words, { name: 'string', itemSize: 0 }], path);
    }
    const arr = await gh.openArray(fixtures, { path: 'dtype_string_fill' });
    equal((await arr.retrieveRegion([0, 0], [1, 4])).data, ['', 'a', 'none', 'none']);
    equal((await arr.retrieveSubchunks([[0, 0], [0, 1]])).map(({ data }) => data), [['', 'a', '', 'a'], Array(4).fill('none')]);
    const { data, dtype } = await read(gh, fixtures, 'dtype_vbytes');
    equal([dtype, data.slice(0, 6)], ['variable_length_bytes', words.map(utf8)]);
    equal((await read(gh, fixtures, 'v2_string')).data, ['a', 'bé', '', '日本語']);
    for (const path of ['dtype_utf32', 'v2_U5']) {
      const { data, type } = await read(gh, fixtures, path);
      equal(data, ['a', 'bé', '', '日本語x', '🙂', 'abcde', 'z', 'y', 'q'], path);
      equal(type, { name: 'fixed_length_utf32', itemSize: 20 }, path);
    }
  },

  async 'byte order marks, inner zeros, and code points that are none'({ load, lib }) {
    const gh = await load();
    const marked = '\ufeffx';
    const vlen = [1, 0, 0, 0, utf8(marked).length, 0, 0, 0, ...utf8(marked)];
    const store = plainArray('string', Uint8Array.from(vlen), { shape: [1], fill: '', codec: { name: 'vlen-utf8' } });
    equal((await (await gh.openArray(store)).retrieveSubchunk([0])).data, [marked]);
    const wide = (...points) => plainArray(
      { name: 'fixed_length_utf32', configuration: { length_bytes: 12 } },
      new Uint8Array(Uint32Array.from(points).buffer), { shape: [1], fill: '' });
    equal((await (await gh.openArray(wide(97, 0, 98))).retrieveSubchunk([0])).data, ['a\0b']);
    await rejects((await gh.openArray(wide(97, 0x110000, 0))).retrieveSubchunk([0]), lib.CorruptError);
  },

  async 'times'({ load, fixtures }) {
    const gh = await load();
    const times = { dtype_datetime64_ns: ['datetime64', 'ns', 1], v2_M8: ['datetime64', 'ns', 1], dtype_timedelta64_s: ['timedelta64', 's', 10] };
    for (const [path, [name, unit, scale]] of Object.entries(times)) {
      const { data, type } = await read(gh, fixtures, path);
      equal(data, BigInt64Array.from(counts), path);
      equal(type, { name: `numpy.${name}`, itemSize: 8, unit, scale }, path);
    }
  },

  async 'bytes of a fixed length, and structs'({ load, fixtures, lib }) {
    const gh = await load();
    for (const [path, name, itemSize] of [
      ['dtype_ntbytes', 'null_terminated_bytes', 5], ['v2_S5', 'null_terminated_bytes', 5],
      ['dtype_rawbytes', 'raw_bytes', 3], ['dtype_r24', 'r24', 3],
    ]) {
      const { data, bytes, type } = await read(gh, fixtures, path);
      equal([type, data.constructor.name, data.length], [{ name, itemSize }, 'Uint8Array', 9 * itemSize], path);
      equal(data, bytes, path);
    }
    for (const path of ['dtype_struct', 'dtype_structured', 'wild_structured_legacy', 'v2_struct']) {
      const arr = await gh.openArray(fixtures, { path });
      const all = await arr.retrieveRegion([0], [9]);
      const x = { name: 'x', offset: 0, dtype: { name: 'float32', itemSize: 4 } };
      const id = { name: 'id', offset: 4, dtype: { name: 'uint16', itemSize: 2 } };
      equal([arr.type.name, arr.type.itemSize, all.data.length], ['struct', 6, 54], path);
      equal(arr.type.fields.map(({ name, offset, dtype }) => ({ name, offset, dtype })), [x, id], path);
      const v = new DataView(all.bytes.buffer);
      const column = lib.field(all, 'id');
      equal([column.dtype, column.shape], ['uint16', [9]], path);
      equal(column.data, Uint16Array.from({ length: 9 }, (_, i) => v.getUint16(6 * i + 4, true)), path);
      equal(lib.field(all, 'x').data, Float32Array.from({ length: 9 }, (_, i) => v.getFloat32(6 * i, true)), path);
      await rejects((async () => lib.field(all, 'y'))(), lib.InvalidError, path);
    }
  },

  async 'short floats as numbers'({ load, fixtures, lib }) {
    const gh = await load();
    const quarters = Float32Array.of(0.5, 0.5, 0.75, 2.75, 1.75, 1.75, 4.5, 4.5, 3.75, 5.5);
    for (const path of ['dtype_bfloat16', 'dtype_float8_e4m3fn', 'dtype_float16']) {
      equal(lib.floats(await read(gh, fixtures, path)).slice(0, 10), quarters, path);
    }
    // The codes that differ between formats; of the others the fixtures tell.
    const special = {
      bfloat16: [[0x3f80, 1], [0xff80, -Infinity], [0x7fc0, NaN], [0x0001, 2 ** -133], [0x8000, -0]],
      float16: [[0x0001, 2 ** -24], [0x7bff, 65504], [0x7c00, Infinity], [0xfe00, NaN], [0x8000, -0]],
      float8_e3m4: [[0x01, 2 ** -6], [0x6f, 15.5], [0x70, Infinity], [0x71, NaN]],
      float8_e4m3: [[0x77, 240], [0x78, Infinity], [0xf9, NaN]],
      float8_e5m2: [[0x7b, 57344], [0xfc, -Infinity], [0x7e, NaN], [0x01, 2 ** -16]],
      float8_e4m3fn: [[0x7e, 448], [0x7f, NaN], [0x78, 256], [0x01, 2 ** -9], [0x80, -0]],
      float8_e4m3b11fnuz: [[0x7f, 30], [0x80, NaN], [0x01, 2 ** -13]],
      float8_e4m3fnuz: [[0x7f, 240], [0x80, NaN], [0x01, 2 ** -10]],
      float8_e5m2fnuz: [[0x7f, 57344], [0x80, NaN], [0x01, 2 ** -17]],
      float8_e8m0fnu: [[127, 1], [0, 2 ** -127], [254, 2 ** 127], [255, NaN]],
      float6_e2m3fn: [[0x1f, 7.5], [0x3f, -7.5], [0x01, 0.125]],
      float6_e3m2fn: [[0x1f, 28], [0x3f, -28], [0x01, 0.0625]],
      float4_e2m1fn: [[7, 6], [15, -6], [1, 0.5], [8, -0]],
    };
    for (const [dtype, codes] of Object.entries(special)) {
      const wide = dtype === 'bfloat16' || dtype === 'float16';
      const stored = (wide ? Uint16Array : Uint8Array).from(codes, ([code]) => code);
      const arr = await gh.openArray(plainArray(dtype, new Uint8Array(stored.buffer), { shape: [codes.length], fill: 1 }));
      const got = lib.floats(await arr.retrieveSubchunk([0]));
      ok(got.every((value, i) => Object.is(value, Math.fround(codes[i][1]))), `${dtype}: ${got}`);
    }
    const { data } = await read(gh, fixtures, 'dtype_float32');
    await rejects((async () => lib.floats({ data, dtype: 'float32', type: { itemSize: 4 } }))(), lib.InvalidError);
  },

  async 'chunks of many shapes'({ load, fixtures, lib }) {
    const gh = await load();
    const arr = await gh.openArray(fixtures, { path: 'grid_rectilinear' });
    equal([arr.chunkShape, arr.effectiveSubchunkShape, arr.subchunkGridShape], [undefined, undefined, [3, 3]]);
    const shapes = [[[0, 0], [4, 3]], [[1, 1], [2, 3]], [[2, 2], [4, 1]], [[0, 2], [4, 1]]];
    const batch = await arr.retrieveSubchunks(shapes.map(([index]) => index));
    const whole = await arr.retrieveRegion([0, 0], arr.shape);
    for (const [i, [index, shape]] of shapes.entries()) {
      equal(arr.chunkShapeAt(index), shape);
      const got = await arr.retrieveSubchunk(index);
      equal([got.shape, got.data.length], [shape, shape[0] * shape[1]]);
      equal(batch[i], got);
      const [r, c] = [[0, 4, 6][index[0]], [0, 3, 6][index[1]]];
      equal(got.data, Uint16Array.from(got.data, (_, k) => whole.data[(r + Math.floor(k / shape[1])) * 7 + c + (k % shape[1])]));
    }
    await rejects(arr.retrieveSubchunk([3, 0]), lib.OutOfRangeError);
    await rejects((async () => arr.chunkShapeAt([0, 3]))(), lib.OutOfRangeError);
    const sharded = await gh.openArray(fixtures, { path: 'grid_rectilinear_sharded' });
    equal([sharded.chunkShape, sharded.chunkShapeAt([1, 0]), sharded.effectiveSubchunkShape], [undefined, [2, 4], [2, 2]]);
  },
};
