// Arrays behind URLs.
import { shardedArray, subchunk } from '../arrays.mjs';
import { equal, rejects } from '../check.mjs';

export const http = {
  async 'HTTP: ranges, tails and tags'({ load, serve, lib }) {
    const gh = await load();
    const objects = await shardedArray({ grid: [2, 1], skip: (i) => i >= 4 });
    const server = await serve(new Map([...objects].map(([key, bytes]) => [`a b/${key}`, bytes])));
    const arr = await gh.openArray(`${server.url}/a b`);
    const shardCache = arr.shardCache();
    await server.taken();
    equal((await arr.retrieveSubchunk([1, 1], { shardCache })).data, subchunk(1, 1));
    const { requests } = await server.taken();
    equal(requests.map((r) => r.status), [206, 206]);
    equal(requests[0].path, '/a%20b/c/0/0');
    await Promise.all([0, 1, 2, 3].map((j) => arr.retrieveSubchunk([0, j], { shardCache })));
    equal((await server.taken()).requests.length, 4, 'warm reads are one request each');
    equal((await arr.retrieveSubchunk([7, 3], { shardCache })).data, new Uint16Array(16).fill(7), 'absent shard');
    const value = (r, c) => r + c;
    await server.put('a b/c/0/0', (await shardedArray({ value, pad: 16 })).get('c/0/0'));
    equal((await arr.retrieveSubchunk([2, 2], { shardCache })).data, subchunk(2, 2, { value }), 'rewritten');
    await server.set({ fail: 403 });
    await rejects(arr.retrieveSubchunk([0, 0]), lib.NotAllowedError, '403');
    await server.set({ fail: 0 });
    equal((await arr.retrieveSubchunk([0, 0], { shardCache })).data, subchunk(0, 0, { value }), 'the next call');
  },

  async 'HTTP: 403 for absent, no suffix, whole answers that are packed'({ load, serve, lib }) {
    const gh = await load();
    const objects = await shardedArray({ grid: [2, 1], skip: (i) => i >= 4 });
    const server = await serve(objects);
    await server.set({ missing: 403 });
    const strict = await gh.openArray(server.url);
    await rejects(strict.retrieveSubchunk([7, 0]), lib.NotAllowedError, '403 by default');
    const lax = await gh.openArray(lib.httpStore(server.url, { forbiddenIsMissing: true, noSuffix: true }));
    await server.taken();
    equal((await lax.retrieveSubchunk([7, 0])).data, new Uint16Array(16).fill(7), '403 as absent');
    equal((await lax.retrieveSubchunk([0, 0])).data, subchunk(0, 0));
    equal((await server.taken()).requests.some((r) => r.range?.startsWith('bytes=-')), false, 'no suffix asked');
    await server.set({ pack: true }); // zarr.json with Content-Encoding: gzip
    const packed = await gh.openArray(server.url);
    equal(packed.shape, [32, 16], 'unpacked once');
    await server.close();
    await rejects(gh.openArray(server.url), lib.IOError, 'nobody listens');
    await rejects(gh.openArray('ftp://host/x'), lib.UnsupportedError);
    await rejects(gh.openArray('file:///x'), globalThis.location === undefined ? lib.NotFoundError : lib.UnsupportedError);
  },

  async 'HTTP: an abort in flight'({ load, serve }) {
    const gh = await load();
    const server = await serve(await shardedArray());
    const arr = await gh.openArray(server.url);
    await server.taken();
    await server.set({ hang: true });
    const controller = new AbortController();
    const read = arr.retrieveSubchunk([0, 0], { signal: controller.signal });
    await server.asked();
    controller.abort();
    equal((await rejects(read, DOMException)).name, 'AbortError');
    await server.dropped();
    await server.set({ hang: false });
    equal((await arr.retrieveSubchunk([0, 0])).data, subchunk(0, 0), 'the next call');
  },
};
