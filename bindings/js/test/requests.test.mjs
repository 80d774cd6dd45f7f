// What reads cost: how many requests, as a server counts them and as the array tells.
import { createServer } from 'node:http';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';

import { Gridhold, InvalidError, UnsupportedError, WrongArrayError, httpStore, zipStore } from '@gridhold/gridhold';

import { equal, ok, rejects } from './check.mjs';
import { field, picks, piece } from './field.mjs';

const file = (name) => new Uint8Array(readFileSync(new URL(`../../../testdata/requests/${name}`, import.meta.url)));

const open = [];
after(() => open.forEach((made) => made.close()));

const gh = await Gridhold.load();
open.push(gh);

/** Serves objects, each under the tag "one", and counts. With `hold(req, res, go)` an answer waits for `go()` where that gives true. */
async function count(objects, hold = () => false) {
  const state = { requests: [], busy: 0, most: 0 };
  const server = createServer((req, res) => {
    const { method } = req;
    const key = decodeURIComponent(req.url.slice(1));
    state.requests.push({ method, key, range: req.headers.range });
    state.most = Math.max(state.most, ++state.busy);
    res.on('close', () => state.busy--);
    if (!hold(req, res, () => answer(key, req, res))) answer(key, req, res);
  });
  const answer = (key, req, res) => {
    const bytes = objects.get(key);
    if (bytes === undefined) return res.writeHead(404).end();
    const asked = /^bytes=(\d*)-(\d*)$/.exec(req.headers.range ?? '');
    if (asked === null) return res.writeHead(200, { etag: '"one"' }).end(bytes);
    const start = asked[1] === '' ? Math.max(0, bytes.length - Number(asked[2])) : Number(asked[1]);
    const stop = asked[1] === '' || asked[2] === '' ? bytes.length : Math.min(bytes.length, Number(asked[2]) + 1);
    // Not at once, so that what is under way together is seen to be.
    setImmediate(() => res.writeHead(206, { etag: '"one"', 'content-range': `bytes ${start}-${stop - 1}/${bytes.length}` }).end(bytes.subarray(start, stop)));
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push({
    close() {
      server.closeAllConnections();
      server.close();
    },
  });
  state.url = `http://127.0.0.1:${server.address().port}`;
  state.taken = () => {
    const { requests } = state;
    state.requests = [];
    state.most = 0;
    ok(!requests.some(({ method }) => method === 'HEAD'), 'a HEAD');
    return requests.length;
  };
  return state;
}

async function eachAlone(array, options) {
  for (const { k, at } of picks) equal((await array.retrieveSubchunk(at, options)).data, piece(k));
}

async function batch(array, some = picks) {
  const got = await array.retrieveSubchunks(some.map(({ at }) => at));
  some.forEach(({ k }, i) => equal(got[i].data, piece(k)));
}

test('256 subchunks in 16 shards', async () => {
  const server = await count(field(file('zarr.json')));
  const array = await gh.openArray(server.url, { trace: true });
  await eachAlone(array, { shardCache: array.shardCache() });
  equal(server.taken(), 1 + 272);
  const cost = await array.cost();
  equal([cost.requests, cost.indexLoads, cost.reads, cost.decodes, cost.failures], [273, 16, 256, 256, 0]);
  equal([cost.elements, cost.bytes], [256 * 256, 256 * 256 + 16 * 1024 * 16]);
  ok(cost.requestingUs > 0 && cost.decodingUs > 0, JSON.stringify(cost));
  equal(Object.keys(await array.shardCache().stats()), ['hits', 'misses', 'loads', 'entries', 'bytes', 'budget']);
  const plain = await gh.openArray(server.url);
  await rejects(plain.cost(), InvalidError);
  server.taken();
  await batch(plain);
  ok(server.taken() <= 263);
});

test('how ranges become requests', async () => {
  const server = await count(field(file('zarr.json')));
  for (const [options, least, most] of [
    [{ gap: -1 }, 80, 80],
    [{ maxMerged: 256 }, 80, 80],
    [{ gap: 1 << 20 }, 32, 32],
    [{ parallel: 3 }, 32, 80],
  ]) {
    const array = await gh.openArray(httpStore(server.url, options));
    server.taken();
    await batch(array, picks.slice(0, 64));
    ok(server.most <= (options.parallel ?? 32), `${server.most} at once`);
    const n = server.taken();
    ok(least <= n && n <= most, `${JSON.stringify(options)}: ${n}`);
  }
  await rejects(gh.openArray(httpStore(server.url, { parallel: 0.5 })), InvalidError);
});

test('index pack', async () => {
  const objects = field(file('zarr.json'));
  objects.set('index/a pack', file('pack'));
  const server = await count(objects);
  const array = await gh.openArray(server.url, { indexPack: file('pack') });
  await eachAlone(array);
  equal(server.taken(), 1 + 256);
  await batch(array);
  ok(server.taken() <= 256);
  for (const indexPack of [`${server.url}/index/a%20pack`, new Blob([file('pack')]), { store: httpStore(server.url), key: 'index/a pack' }]) {
    const opened = await gh.openArray(server.url, { indexPack });
    server.taken();
    equal((await opened.retrieveSubchunk(picks[7].at)).data, piece(picks[7].k));
    equal(server.taken(), 1);
  }
  objects.set('zarr.json', new TextEncoder().encode(new TextDecoder().decode(file('zarr.json')).replace('2048, 2048', '2048, 2047')));
  await rejects(gh.openArray(server.url, { indexPack: file('pack') }), WrongArrayError);
});

test('archives', async () => {
  const server = await count(new Map([['dir/a b.zip', file('small.zip')]]));
  const url = `${server.url}/dir/a%20b.zip`;
  for (const source of [`zip://${url}`, zipStore(url), zipStore(httpStore(server.url), 'dir/a b.zip')]) {
    const group = await gh.openGroup(source);
    equal((await group.list()).map(({ path }) => path), ['a']);
    const array = await group.open('a');
    equal((await array.retrieveSubchunk([1, 2])).data, piece(2));
    await rejects(array.locateSubchunks([[0, 0]]), UnsupportedError);
  }
  await rejects(gh.open(`zip://${server.url}/none.zip`), InvalidError);
  await rejects((async () => gh.open(zipStore(zipStore(url), 'x')))(), UnsupportedError);
});

test('32 requests under way, with shards and without', async () => {
  const plain = JSON.parse(new TextDecoder().decode(file('zarr.json')));
  plain.shape = [16 * 64, 16];
  plain.codecs = plain.codecs[0].configuration.codecs;
  plain.chunk_grid.configuration.chunk_shape = [16, 16];
  const chunks = new Map(Array.from({ length: 64 }, (_, k) => [`c/${k}/0`, piece(k)]));
  chunks.set('zarr.json', new TextEncoder().encode(JSON.stringify(plain)));

  for (const [objects, wanted, indexPack] of [
    [chunks, Array.from({ length: 64 }, (_, k) => ({ k, at: [k, 0] })), undefined],
    [field(file('zarr.json')), picks, file('pack')],
  ]) {
    let waiting = [];
    const server = await count(objects, (req, res, go) => {
      if (!req.url.startsWith('/c/') || waiting === undefined) return false;
      waiting.push(go);
      if (waiting.length === 32) {
        const all = waiting;
        waiting = undefined; // from now on nobody waits
        all.forEach((answer) => answer());
      }
      return true;
    });
    // With a gap a batch of shards would be too few requests.
    const array = await gh.openArray(httpStore(server.url, { gap: -1 }), { indexPack });
    await batch(array, wanted);
    equal(server.most, 32);
  }
});
