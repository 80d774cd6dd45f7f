// Report 23: servers that pack what they send, or only say so.
import { createServer } from 'node:http';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { Gridhold, GridholdError, IOError, NotFoundError, UnsupportedError } from '@gridhold/gridhold';

import { shardedArray, subchunk } from './arrays.mjs';
import { equal, ok, rejects } from './check.mjs';

const objects = await shardedArray({ grid: [2, 2] });
const open = [];
after(() => open.forEach((made) => made.close()));

const asIs = (bytes) => [{}, bytes];

/** A server whose answers `metadata` and `data` make: headers and bytes, of what was asked for. `whole`: metadata is packed, and always sent whole. */
async function served({ whole = false, metadata = asIs, data = asIs }) {
  const server = createServer((req, res) => {
    const key = decodeURIComponent(req.url.slice(1));
    const bytes = objects.get(key);
    if (bytes === undefined) return res.writeHead(404).end();
    if (whole && key === 'zarr.json') return res.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(bytes));
    const range = /^bytes=(\d*)-(\d*)$/.exec(req.headers.range ?? '');
    const start = range === null ? 0 : range[1] === '' ? Math.max(0, bytes.length - Number(range[2])) : Number(range[1]);
    const stop = range === null || range[1] === '' || range[2] === '' ? bytes.length : Math.min(bytes.length, Number(range[2]) + 1);
    const [headers, body] = (key === 'zarr.json' ? metadata : data)(bytes.subarray(start, stop));
    if (range !== null) headers['content-range'] = `bytes ${start}-${stop - 1}/${bytes.length}`;
    res.writeHead(range === null ? 200 : 206, headers).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push({
    close() {
      server.closeAllConnections();
      server.close();
    },
  });
  return `http://127.0.0.1:${server.address().port}`;
}

const gh = await Gridhold.load();
open.push(gh);

test('metadata that is packed is unpacked once', async () => {
  const array = await gh.openArray(await served({ whole: true }));
  equal((await array.retrieveSubchunk([3, 1])).data, subchunk(3, 1));
});

test('a range of what was packed is refused, and nothing is kept', async () => {
  const array = await gh.openArray(await served({ data: (bytes) => [{ 'content-encoding': 'gzip' }, gzipSync(bytes)] }));
  const shardCache = array.shardCache({ rememberMissing: true });
  for (const read of [() => array.retrieveSubchunk([0, 0], { shardCache }), () => array.retrieveRegion([0, 0], [2, 2], { shardCache })]) {
    const error = await rejects(read(), GridholdError);
    ok(error instanceof UnsupportedError || error instanceof IOError, `${error.name}: ${error.message}`);
  }
  equal(await shardCache.size(), 0);
});

test('what is only said to be packed is an error, not an absence', async () => {
  const url = await served({ metadata: (bytes) => [{ 'content-encoding': 'gzip' }, bytes] });
  const error = await rejects(gh.openArray(url), GridholdError);
  ok(!(error instanceof NotFoundError), error.message);
});
