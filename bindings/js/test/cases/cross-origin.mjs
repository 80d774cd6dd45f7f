// Servers of another origin than the page's, and what they let it do. In Node
// there are no such rules, and all of them work.
import { shardedArray, subchunk } from '../arrays.mjs';
import { equal, ok, rejects } from '../check.mjs';

const inPage = globalThis.location !== undefined;

/** Servers of field report 21: what they do, and how many preflights and HEADs they get. */
const servers = {
  'all exposed': { behaviour: {}, preflights: 0 },
  'no Content-Range to be seen': { behaviour: { expose: 'etag' }, preflights: 1 },
  'no tag to be seen': { behaviour: { expose: 'content-range' }, preflights: 0 },
  'a preflight that refuses': { behaviour: { preflight: false }, preflights: 0 },
  'HEAD refused': { behaviour: { head: false }, preflights: 0 },
};

export const crossOrigin = {
  async 'HTTP: what servers let a page of another origin do'({ load, serve }) {
    const gh = await load();
    for (const [name, { behaviour, preflights }] of Object.entries(servers)) {
      const server = await serve(await shardedArray({ grid: [2, 2], skip: (i, j) => i >= 4 && j >= 4 }), behaviour);
      const arr = await gh.openArray(server.url);
      const shardCache = arr.shardCache();
      for (const index of [[0, 0], [3, 3], [0, 7], [7, 0]]) {
        equal((await arr.retrieveSubchunk(index, { shardCache })).data, subchunk(...index), `${name}: ${index}`);
      }
      equal((await arr.retrieveSubchunk([7, 7], { shardCache })).data, new Uint16Array(16).fill(7), `${name}: absent`);
      const { requests } = await server.taken();
      const asked = requests.filter(({ method }) => method === 'OPTIONS').length;
      ok(inPage ? (asked > 0) === (preflights > 0) : asked === 0, `${name}: ${asked} preflights`);
      equal(requests.filter(({ method }) => method === 'HEAD').length, 0, `${name}: HEAD`);
    }
  },

  async 'HTTP: what a page may not do is an error, and nothing is remembered as absent'({ load, serve, lib }) {
    const gh = await load();
    const server = await serve(await shardedArray({ grid: [2, 2] }), { expose: '', preflight: false });
    const arr = await gh.openArray(server.url);
    const shardCache = arr.shardCache({ rememberMissing: true });
    if (!inPage) return equal((await arr.retrieveSubchunk([0, 0], { shardCache })).data, subchunk(0, 0));
    for (const read of [
      () => arr.retrieveSubchunk([0, 0], { shardCache }),
      () => arr.retrieveSubchunks([[0, 0], [7, 7]], { shardCache }),
      () => arr.retrieveRegion([0, 0], [2, 2], { shardCache }),
    ]) {
      const { message } = await rejects(read(), lib.IOError);
      ok(/cross-origin rules/.test(message), message);
    }
    equal(await shardCache.size(), 0);
  },

  async 'HTTP: tails of shards of many sizes take little more than a request each'({ load, serve }) {
    const gh = await load();
    const objects = await shardedArray({ grid: [8, 8] });
    const plain = objects.get('c/0/0');
    const sizes = [0, 3, 500, 9000, 40_000, 300_000, 700_000];
    for (let k = 0; k < 64; k++) {
      // What lies before the subchunks moves them, and they are found by the index.
      const pad = sizes[k % sizes.length];
      objects.set(`c/${k >> 3}/${k % 8}`, (await shardedArray({ pad })).get('c/0/0'));
    }
    ok(plain.length < 1000, 'small shards');
    const server = await serve(objects);
    const arr = await gh.openArray(server.url);
    await server.taken();
    const shardCache = arr.shardCache();
    for (let k = 0; k < 64; k++) {
      const [i, j] = [k >> 3, k % 8];
      equal((await arr.retrieveSubchunk([4 * i + 1, 4 * j + 2], { shardCache })).data, subchunk(1, 2), `shard ${k}`);
    }
    const { requests } = await server.taken();
    equal(requests.filter(({ method }) => method !== 'GET').length, 0);
    ok(requests.length <= 64 * 3, `${requests.length} requests`);
  },

  async 'HTTP: a shard that is replaced between two requests of a page'({ load, serve }) {
    const gh = await load();
    const server = await serve(await shardedArray());
    const arr = await gh.openArray(server.url);
    const shardCache = arr.shardCache();
    for (let k = 1; k < 12; k++) {
      const value = (r, c) => r * 100 + c + k;
      await server.put('c/0/0', (await shardedArray({ value, pad: (k * 7919) % 600 })).get('c/0/0'));
      const options = k % 2 === 0 ? { shardCache } : {};
      equal((await arr.retrieveSubchunk([k % 4, 1], options)).data, subchunk(k % 4, 1, { value }), `${k}`);
    }
  },
};
