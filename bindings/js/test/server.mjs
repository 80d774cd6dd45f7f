// A static HTTP server of objects on the loopback interface, which counts
// what it is asked and can be told to misbehave. A page drives it from afar
// (remote-server.mjs), so all its methods answer promises.
import { createServer } from 'node:http';
import { once } from 'node:events';
import { gzipSync } from 'node:zlib';

/** What a server does until it is told otherwise. */
const plain = {
  fail: 0, // answer everything with this status
  missing: 404, // the status of what is not there
  hang: false, // never answer
  pack: false, // pack whole answers
  delay: 0, // milliseconds before an answer
  head: true, // HEAD is allowed
  preflight: true, // headers of any name are allowed across origins
  expose: 'etag, content-range, content-length, accept-ranges', // what a page of another origin may see
};

/** Serves `objects`, a Map of keys and bytes. `behaviour` is of what `set` takes. */
export async function serve(objects, behaviour = {}) {
  let made = 0;
  const tags = new Map();
  const state = { ...plain, ...behaviour };
  let requests = [];
  let [busy, most, dropped] = [0, 0, 0];
  const waiting = new Set();
  /** Resolves when `holds` does; looked at after each request and each end of one. */
  const until = (holds) => new Promise((resolve) => {
    waiting.add({ holds, resolve });
    changed();
  });
  const changed = () => {
    for (const waiter of waiting) {
      if (!waiter.holds()) continue;
      waiting.delete(waiter);
      waiter.resolve();
    }
  };

  const put = (key, bytes) => {
    objects.set(key, bytes);
    tags.set(key, `"t${++made}"`);
  };
  for (const [key, bytes] of [...objects]) put(key, bytes);

  const take = (req, res) => {
    const path = new URL(req.url, 'http://x').pathname;
    const { range } = req.headers;
    const entry = { method: req.method, path, range, status: 0 };
    requests.push(entry);
    most = Math.max(most, ++busy);
    res.on('close', () => {
      busy--;
      if (!res.writableFinished) dropped++;
      changed();
    });
    changed();
    if (state.hang) return;
    if (state.delay === 0) answer(req, res, entry);
    else setTimeout(answer, state.delay, req, res, entry);
  };

  const answer = (req, res, entry) => {
    const key = decodeURIComponent(entry.path.slice(1));
    const end = (status, headers, body) => {
      entry.status = status;
      const cors = { 'access-control-allow-origin': '*', 'access-control-expose-headers': state.expose };
      res.writeHead(status, { ...cors, ...headers }).end(req.method === 'HEAD' ? undefined : body);
    };
    if (req.method === 'OPTIONS') {
      const headers = { 'access-control-allow-headers': 'range, if-match', 'access-control-allow-methods': 'GET, HEAD' };
      return end(state.preflight ? 204 : 403, state.preflight ? headers : {});
    }
    if (state.fail) return end(state.fail);
    if (req.method === 'HEAD' && !state.head) return end(405);
    const bytes = objects.get(key);
    if (bytes === undefined) return end(state.missing);
    const etag = tags.get(key);
    const ifMatch = req.headers['if-match'];
    if (ifMatch !== undefined && ifMatch !== etag) return end(412);
    const asked = /^bytes=(\d*)-(\d*)$/.exec(entry.range ?? '');
    const whole = key.endsWith('zarr.json') || asked === null;
    if (whole && state.pack) return end(200, { etag, 'content-encoding': 'gzip' }, gzipSync(bytes));
    if (asked === null) return end(200, { etag, 'content-length': bytes.length, 'accept-ranges': 'bytes' }, bytes);
    const start = asked[1] === '' ? Math.max(0, bytes.length - Number(asked[2])) : Number(asked[1]);
    const stop = asked[1] === '' || asked[2] === '' ? bytes.length : Math.min(bytes.length, Number(asked[2]) + 1);
    if (start >= stop) return end(416, { 'content-range': `bytes */${bytes.length}` });
    const part = bytes.subarray(start, stop);
    end(206, { etag, 'content-range': `bytes ${start}-${stop - 1}/${bytes.length}`, 'content-length': part.length }, part);
  };

  const server = createServer(take);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    /** Changes how it behaves. */
    set: async (change) => void Object.assign(state, change),
    /** Another object, of another tag. */
    put: async (key, bytes) => put(key, bytes),
    /** What was asked since the last time, and how much of it at once. */
    taken: async () => {
      const taken = { requests, most };
      [requests, most, dropped] = [[], 0, 0];
      return taken;
    },
    /** Resolves when it has been asked something since `taken`. */
    asked: () => until(() => requests.length > 0),
    /** Resolves when an asker has left before his answer since `taken`. */
    dropped: () => until(() => dropped > 0),
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
