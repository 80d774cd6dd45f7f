// A static HTTP server of objects on the loopback interface, which counts
// what it is asked and can be told to misbehave.
import { createServer } from 'node:http';
import { once } from 'node:events';
import { gzipSync } from 'node:zlib';

export async function serve(objects) {
  let tag = 0;
  const tags = new Map();
  const put = (key, bytes) => {
    objects.set(key, bytes);
    tags.set(key, `"t${++tag}"`);
  };
  for (const [key, bytes] of [...objects]) put(key, bytes);

  const handler = (req, res) => {
    const path = new URL(req.url, 'http://x').pathname;
    const key = decodeURIComponent(path.slice(1));
    const { range } = req.headers;
    const entry = { method: req.method, path, range, status: 0 };
    state.requests.push(entry);
    res.on('close', () => events.dropped?.());
    events.asked?.();
    if (state.hang) return;
    const end = (status, headers, body) => {
      entry.status = status;
      res.writeHead(status, headers).end(req.method === 'HEAD' ? undefined : body);
    };
    if (state.fail) return end(state.fail);
    const bytes = objects.get(key);
    if (bytes === undefined) return end(state.missing);
    const etag = tags.get(key);
    const ifMatch = req.headers['if-match'];
    if (ifMatch !== undefined && ifMatch !== etag) return end(412);
    const asked = /^bytes=(\d*)-(\d*)$/.exec(range ?? '');
    const whole = key.endsWith('zarr.json') || asked === null;
    if (whole && state.pack) return end(200, { etag, 'content-encoding': 'gzip' }, gzipSync(bytes));
    if (asked === null) return end(200, { etag, 'content-length': bytes.length }, bytes);
    const start = asked[1] === '' ? Math.max(0, bytes.length - Number(asked[2])) : Number(asked[1]);
    const stop = asked[1] === '' || asked[2] === '' ? bytes.length : Math.min(bytes.length, Number(asked[2]) + 1);
    if (start >= stop) return end(416, { 'content-range': `bytes */${bytes.length}` });
    const part = bytes.slice(start, stop);
    end(206, { etag, 'content-range': `bytes ${start}-${stop - 1}/${bytes.length}`, 'content-length': part.length }, part);
  };

  const events = {};
  const server = createServer(handler);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const state = {
    url: `http://127.0.0.1:${server.address().port}`,
    requests: [],
    fail: 0, // answer everything with this status
    missing: 404, // the status of what is not there
    hang: false, // never answer
    pack: false, // pack whole answers
    put,
    asked: () => new Promise((resolve) => (events.asked = resolve)),
    dropped: () => new Promise((resolve) => (events.dropped = resolve)),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return state;
}
