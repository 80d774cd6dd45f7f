// Reads past the guest: what they give, and that all that is not as it should be is the guest's.
import { shardedArray, subchunk } from '../arrays.mjs';
import { equal, ok, rejects } from '../check.mjs';

const sub = [32, 32];

async function compressed(zstd, more = {}) {
  const codec = zstd.fromConfig({ level: 3 });
  return shardedArray({
    grid: [2, 2], per: [2, 2], sub, codecs: [{ name: 'zstd', configuration: { level: 3, checksum: false } }], encode: (bytes) => codec.encode(bytes), ...more,
  });
}

export const direct = {
  async 'HTTP past the guest: the same as by the guest'({ load, serve, zstd }) {
    let used = 0;
    const codec = zstd.fromConfig({ level: 3 });
    const lent = await load({ codecs: { zstd: (bytes) => (used++, codec.decode(bytes)) } });
    const strict = await load({ strict: true });
    const server = await serve(await compressed(zstd, { skip: (i, j) => i === 1 && j === 1 }));
    const [a, b] = await Promise.all([lent, strict].map((gh) => gh.openArray(server.url)));
    const [shardCache, other] = [a.shardCache(), b.shardCache()];
    for (let k = 0; k < 16; k++) {
      const index = [k >> 2, k % 4];
      equal(await a.retrieveSubchunk(index, { shardCache }), await b.retrieveSubchunk(index, { shardCache: other }), `${index}`);
    }
    equal(used, 15, 'decoded by the lent codec');
    const { hits, loads } = await shardCache.stats();
    ok(hits >= 12 && loads === 4, `${hits} hits, ${loads} loads`);
  },

  async 'HTTP past the guest: another version, another cache, a lie, an abort, the end'({ load, serve, zstd, lib }) {
    const codec = zstd.fromConfig({ level: 3 });
    let decode = (bytes) => codec.decode(bytes);
    const gh = await load({ codecs: { zstd: (bytes) => decode(bytes) } });
    const server = await serve(await compressed(zstd));
    const arr = await gh.openArray(server.url);
    const shardCache = arr.shardCache();
    const read = (options) => arr.retrieveSubchunk([1, 1], { shardCache, ...options });
    equal((await read()).data, subchunk(1, 1, { sub }));
    const value = (r, c) => r * 3 + c;
    await server.put('c/0/0', (await compressed(zstd, { value, pad: 100 })).get('c/0/0'));
    equal((await read()).data, subchunk(1, 1, { sub, value }), 'another version');
    equal((await read()).data, subchunk(1, 1, { sub, value }), 'again');
    for (const liar of [() => new Uint8Array(3), () => 'text', () => { throw new Error('no'); }, async () => { throw new Error('no'); }]) {
      decode = liar;
      equal((await read()).data, subchunk(1, 1, { sub, value }), 'a codec that lies');
    }
    const other = await gh.openArray((await serve(await compressed(zstd))).url);
    await rejects(arr.retrieveSubchunk([0, 0], { shardCache: other.shardCache() }), lib.WrongArrayError);
    await rejects(arr.retrieveSubchunk([4, 0], { shardCache }), lib.OutOfRangeError);
    await server.set({ fail: 403 });
    await rejects(read(), lib.NotAllowedError);
    await server.set({ fail: 0, hang: true });
    await server.taken();
    const controller = new AbortController();
    const reason = new Error('changed my mind');
    const left = read({ signal: controller.signal });
    await server.asked();
    controller.abort(reason);
    ok((await rejects(left, Error)) === reason, 'the reason');
    await server.set({ hang: false });
    await shardCache.clear();
    equal((await read()).data, subchunk(1, 1, { sub, value }), 'the next call');
    const damaged = await compressed(zstd);
    const shard = Uint8Array.from(damaged.get('c/0/0'));
    shard.fill(0, 0, 40);
    await server.put('c/0/0', shard);
    await rejects(arr.retrieveSubchunk([0, 0], { shardCache }), lib.CorruptError);
    arr.close();
    await rejects(read(), lib.ClosedError);
  },
};
