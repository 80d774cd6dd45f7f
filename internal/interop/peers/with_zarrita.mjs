// zarrita as a peer. The protocol is that of protocol.py.
import { Buffer } from "node:buffer";
import { createInterface } from "node:readline";
import FileSystemStore from "@zarrita/storage/fs";
import * as zarr from "zarrita";

// zarrita takes any index to be at the end of a shard, and Node aborts the
// process when asked for a range such as it then finds.
class Store extends FileSystemStore {
  async getRange(key, range, options) {
    if (range.length > 2 ** 31 || range.offset > Number.MAX_SAFE_INTEGER) throw new RangeError("absurd range");
    return super.getRange(key, range, options);
  }
}

const node = (dir, path) => zarr.root(new Store(dir)).resolve(path);

// inOrder gives elements in C order: zarrita keeps that of the codecs.
function inOrder({ data, shape, stride }) {
  const size = shape.reduce((a, b) => a * b, 1);
  const at = new Array(size);
  for (let i = 0; i < size; i++) {
    let rest = i;
    at[i] = 0;
    for (let k = shape.length - 1; k >= 0; k--) {
      at[i] += (rest % shape[k]) * stride[k];
      rest = Math.floor(rest / shape[k]);
    }
  }
  if (data.get) return at.map((i) => data.get(i)); // bits or texts in a buffer
  return Array.isArray(data) ? at.map((i) => data[i]) : data.constructor.from(at, (i) => data[i]);
}

function pack(dtype, data) {
  if (dtype === "string") {
    const parts = [];
    for (const text of data) {
      const b = Buffer.from(text);
      const n = Buffer.alloc(4);
      n.writeUInt32LE(b.length);
      parts.push(n, b);
    }
    return Buffer.concat(parts).toString("base64");
  }
  if (dtype === "bool") return Buffer.from(data.map(Number)).toString("base64");
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
}

function unpack(Type, text) {
  const b = Uint8Array.from(Buffer.from(text, "base64"));
  return new Type(b.buffer);
}

const peer = {
  async read({ dir, path }) {
    const array = await zarr.open.v3(node(dir, path), { kind: "array" });
    // get gives the element itself of an array without axes; its chunk has the bits.
    const got = array.shape.length === 0 ? await array.getChunk([]) : await zarr.get(array);
    return { shape: array.shape, attributes: array.attrs, data: pack(array.dtype, inOrder(got)) };
  },

  async write({ dir, path, metadata: m, parts }) {
    await zarr.create(node(dir, path), {
      shape: m.shape,
      dtype: m.data_type,
      chunkShape: m.chunk_grid.configuration.chunk_shape,
      chunkSeparator: m.chunk_key_encoding.configuration.separator,
      codecs: m.codecs,
      fillValue: m.fill_value,
      dimensionNames: m.dimension_names,
      attributes: m.attributes,
    });
    return peer.change({ dir, path, parts });
  },

  async change({ dir, path, parts = [] }) {
    const array = await zarr.open.v3(node(dir, path), { kind: "array" });
    for (const { start, stop, data } of parts) {
      const shape = stop.map((b, i) => b - start[i]);
      const stride = shape.map((_, i) => shape.slice(i + 1).reduce((a, b) => a * b, 1));
      const Type = array.dtype === "bool" ? zarr.BoolArray : types[array.dtype];
      if (!Type) throw new Error(`no typed array of ${array.dtype}`);
      const elements = unpack(Type, data);
      const selection = start.map((a, i) => zarr.slice(a, stop[i]));
      const value = shape.length === 0 ? elements[0] : { data: elements, shape, stride };
      await zarr.set(array, selection, value);
    }
    return {};
  },

  async group({ dir, path, attributes }) {
    await zarr.create(path ? node(dir, path) : zarr.root(new Store(dir)), { attributes });
    return {};
  },

  async list({ dir, consolidated }) {
    if (!consolidated) throw new Error("zarrita does not list");
    const store = await zarr.withConsolidatedMetadata(new Store(dir), { format: "v3" });
    const group = await zarr.open.v3(store, { kind: "group" });
    const nodes = [];
    for (const { path, kind } of store.contents()) {
      if (path === "/") continue;
      const { attrs } = await zarr.open.v3(zarr.root(store).resolve(path));
      nodes.push({ path: path.slice(1), kind, attributes: attrs });
    }
    return { attributes: group.attrs, nodes };
  },
};

const types = {
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
  float32: Float32Array, float64: Float64Array,
};

for await (const line of createInterface({ input: process.stdin })) {
  const { do: name, ...request } = JSON.parse(line);
  let answer;
  try {
    answer = await peer[name](request);
  } catch (e) {
    answer = { refused: `${e}`.slice(0, 500) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
