// Small sharded arrays, made here so that a test can say what is in them,
// and stores that count, wait and fail.

/**
 * A two-dimensional uint16 array of `grid` shards of `per` subchunks of
 * `sub` elements each. Element (r, c) is `value(r, c)`. `skip(i, j)` leaves
 * subchunk (i, j) out; a shard without subchunks is not stored. `encode`
 * compresses a subchunk for the codec that `codecs` names.
 */
export async function shardedArray({
  grid = [1, 1],
  per = [4, 4],
  sub = [4, 4],
  shape,
  value = (r, c) => r * 1000 + c,
  skip = () => false,
  codecs = [],
  encode = (bytes) => bytes,
  pad = 0,
} = {}) {
  const chunk = [per[0] * sub[0], per[1] * sub[1]];
  shape ??= [grid[0] * chunk[0], grid[1] * chunk[1]];
  const little = { name: 'bytes', configuration: { endian: 'little' } };
  const metadata = {
    zarr_format: 3,
    node_type: 'array',
    shape,
    data_type: 'uint16',
    chunk_grid: { name: 'regular', configuration: { chunk_shape: chunk } },
    chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
    fill_value: 7,
    codecs: [
      {
        name: 'sharding_indexed',
        configuration: {
          chunk_shape: sub,
          codecs: [little, ...codecs],
          index_codecs: [little, { name: 'crc32c' }],
          index_location: 'end',
        },
      },
    ],
    attributes: { made: 'here' },
  };
  const objects = new Map([['zarr.json', new TextEncoder().encode(JSON.stringify(metadata))]]);
  for (let i = 0; i < grid[0]; i++) {
    for (let j = 0; j < grid[1]; j++) {
      const shard = await makeShard(i, j);
      if (shard !== undefined) objects.set(`c/${i}/${j}`, shard);
    }
  }
  return objects;

  async function makeShard(i, j) {
    const parts = pad > 0 ? [new Uint8Array(pad)] : [];
    const index = new DataView(new ArrayBuffer(16 * per[0] * per[1]));
    let off = pad;
    for (let a = 0; a < per[0]; a++) {
      for (let b = 0; b < per[1]; b++) {
        const at = 16 * (a * per[1] + b);
        const [si, sj] = [i * per[0] + a, j * per[1] + b];
        if (skip(si, sj)) {
          index.setBigUint64(at, 2n ** 64n - 1n, true);
          index.setBigUint64(at + 8, 2n ** 64n - 1n, true);
          continue;
        }
        const elements = new Uint16Array(sub[0] * sub[1]);
        elements.forEach((_, k) => {
          elements[k] = value(si * sub[0] + Math.floor(k / sub[1]), sj * sub[1] + (k % sub[1]));
        });
        const stored = await encode(new Uint8Array(elements.buffer));
        index.setBigUint64(at, BigInt(off), true);
        index.setBigUint64(at + 8, BigInt(stored.length), true);
        parts.push(stored);
        off += stored.length;
      }
    }
    if (parts.length === (pad > 0 ? 1 : 0)) return undefined;
    const bytes = new Uint8Array(index.buffer);
    const sum = new DataView(new ArrayBuffer(4));
    sum.setUint32(0, crc32c(bytes), true);
    return join([...parts, bytes, new Uint8Array(sum.buffer)]);
  }
}

/** The subchunk (i, j) of such an array, as it should come back. */
export function subchunk(i, j, { sub = [4, 4], value = (r, c) => r * 1000 + c } = {}) {
  return Uint16Array.from({ length: sub[0] * sub[1] }, (_, k) =>
    value(i * sub[0] + Math.floor(k / sub[1]), j * sub[1] + (k % sub[1])),
  );
}

/** Objects in memory, as a store. `options.before(key, ranges, signal)` runs first and may wait or throw. */
export class MemoryStore {
  constructor(objects, options = {}) {
    this.objects = objects;
    this.before = options.before ?? (() => {});
    this.version = 1;
    this.requests = [];
  }

  async read(key, ranges, version, signal) {
    this.requests.push({ key, ranges });
    await this.before(key, ranges, signal);
    const object = this.objects.get(key);
    if (object === undefined) return undefined;
    const data = ranges.map((range) => {
      const start = 'suffix' in range ? Math.max(0, object.length - range.suffix) : range.offset;
      return object.slice(start, range.length === undefined ? undefined : start + range.length);
    });
    return { data, size: object.length, version: `v${this.version}` };
  }

  async list(prefix) {
    const names = new Set();
    for (const key of this.objects.keys()) {
      if (!key.startsWith(prefix)) continue;
      const [name, ...below] = key.slice(prefix.length).split('/');
      names.add(below.length > 0 ? `${name}/` : name);
    }
    return [...names].sort();
  }

  /** How often the index of a shard was read: the only suffix reads there are. */
  indexLoads() {
    return this.requests.filter(({ ranges }) => ranges.some((range) => 'suffix' in range)).length;
  }
}

export const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function join(parts) {
  const out = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export function crc32c(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let k = 0; k < 8; k++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc >>> 0;
}
