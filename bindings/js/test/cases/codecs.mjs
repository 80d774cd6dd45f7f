// Codecs that the caller lends.
import { MemoryStore, shardedArray, subchunk } from '../arrays.mjs';
import { equal, ok, rejects, sha256 } from '../check.mjs';

const MiB = 1024 * 1024;

export const codecs = {
  async 'lent codecs change nothing but speed'({ load, lib, fixtures, manifest, zstd }) {
    const used = { zstd: 0, gzip: 0 };
    const counted = (name, { decode }) => ({ decode: (...args) => { used[name]++; return decode(...args); } });
    const codec = zstd.fromConfig({ level: 3 });
    const codecs = { zstd: counted('zstd', { decode: (bytes) => codec.decode(bytes) }), gzip: counted('gzip', lib.gzipStream) };
    const plain = await load();
    const lent = await load({ codecs });
    const strict = await load({ codecs, strict: true });
    const compressed = manifest.arrays.filter((a) => a.sha256 && /"(zstd|gzip)"/.test(JSON.stringify(a.codecs)));
    ok(compressed.length > 5, 'fixtures with codecs');
    const read = async (gh, { path, shape, sha256: sum }) => {
      const arr = await gh.openArray(fixtures, { path });
      equal(await sha256((await arr.retrieveRegion(shape.map(() => 0), shape)).bytes), sum, path);
    };
    for (const entry of compressed) await read(plain, entry);
    for (const entry of compressed) await read(strict, entry);
    equal(used, { zstd: 0, gzip: 0 }, 'strict lends nothing');
    for (const entry of compressed) await read(lent, entry);
    ok(used.zstd > 0 && used.gzip > 0, `used: ${JSON.stringify(used)}`);
  },

  async 'a lent codec that lies is not believed'({ load, lib, zstd }) {
    const codec = zstd.fromConfig({ level: 3 });
    const sub = [64, 64];
    let made = 0;
    const numcodecs = { fromConfig: (configuration) => { made++; return zstd.fromConfig(configuration); } };
    const objects = await shardedArray({
      sub, per: [2, 2],
      codecs: [{ name: 'zstd', configuration: { level: 3, checksum: false } }],
      encode: (bytes) => codec.encode(bytes),
    });
    const liars = {
      'too long': () => new Uint8Array(10 * MiB),
      'too short': () => new Uint8Array(3),
      'not bytes': () => 'text',
      throws: () => { throw new Error('no'); },
      rejects: async () => { throw new Error('no'); },
      'too long, later': async () => new Uint8Array(5000),
      'a class of numcodecs': numcodecs,
    };
    for (const [what, liar] of Object.entries(liars)) {
      const gh = await load({ codecs: { zstd: liar } });
      const arr = await gh.openArray(new MemoryStore(objects));
      equal((await arr.retrieveSubchunk([1, 1])).data, subchunk(1, 1, { sub }), what);
    }
    equal(made, 1, 'classes made ready');
    const broken = new Map(objects);
    const shard = Uint8Array.from(objects.get('c/0/0'));
    shard.fill(0, 8, 40);
    broken.set('c/0/0', shard);
    for (const codecs of [{}, { zstd }]) {
      const gh = await load({ codecs });
      const arr = await gh.openArray(new MemoryStore(broken));
      await rejects(arr.retrieveSubchunk([0, 0]), lib.CorruptError, 'damaged');
    }
  },

  async 'calls from within a store and from within a codec'({ load, zstd }) {
    const codec = zstd.fromConfig({ level: 3 });
    const objects = await shardedArray({
      sub: [32, 32], per: [2, 2],
      codecs: [{ name: 'zstd', configuration: { level: 3, checksum: false } }],
      encode: (bytes) => codec.encode(bytes),
    });
    const plain = new MemoryStore(await shardedArray());
    let inner;
    const lent = { decode: (bytes) => { inner ??= arr2.retrieveSubchunk([0, 0]); return codec.decode(bytes); } };
    const gh = await load({ codecs: { zstd: lent } });
    const arr2 = await gh.openArray(plain);
    const store = new MemoryStore(objects);
    const arr = await gh.openArray(store);
    let nested;
    store.before = async () => { nested ??= arr2.retrieveSubchunk([1, 1]); equal((await nested).data, subchunk(1, 1)); };
    equal((await arr.retrieveSubchunk([0, 1])).data, subchunk(0, 1, { sub: [32, 32] }));
    equal((await inner).data, subchunk(0, 0), 'from within a codec');
  },
};
