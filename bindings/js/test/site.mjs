// The site that test pages come from, on the loopback interface: the built
// package, the tests, the fixtures, and servers of objects for pages to make.
import { createServer } from 'node:http';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { readFile, readdir, realpath, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { pipeline } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { packed, unpacked } from './remote-server.mjs';
import { serve } from './server.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** What is served, by the first part of the path. */
const folders = {
  dist: here('../dist'),
  test: here('.'),
  bench: here('../bench'),
  examples: here('../examples'),
  modules: here('../node_modules'),
  testdata: here('../../../testdata'),
};

const types = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.json': 'application/json', '.wasm': 'application/wasm' };

/** Bare names that pages may import. */
const names = {
  '@gridhold/gridhold': '/dist/index.js',
  '@zarrita/storage': '/modules/@zarrita/storage/dist/src/index.js',
  '@zarrita/storage/fetch': '/modules/@zarrita/storage/dist/src/fetch.js',
  fflate: '/modules/fflate/esm/browser.js',
  zarrita: '/modules/zarrita/dist/src/index.js',
};
for (const codec of ['blosc', 'gzip', 'lz4', 'zlib', 'zstd']) names[`numcodecs/${codec}`] = `/modules/numcodecs/dist/${codec}.js`;

const blank = `<!doctype html><meta charset="utf-8"><title>gridhold</title><link rel="icon" href="data:,">
<script type="importmap">${JSON.stringify({ imports: names })}</script>`;

/** Opens the site. `more` are further folders to serve. */
export async function openSite(more = {}) {
  const roots = { ...folders, ...more };
  const servers = [];
  const server = createServer((req, res) => {
    handle(req, res).catch((error) => {
      if (!res.headersSent) res.writeHead(500, { 'content-type': 'text/plain' });
      res.end(String(error?.stack ?? error));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    async close() {
      for (const made of servers) await made?.close();
      server.closeAllConnections();
      server.close();
    },
  };

  async function handle(req, res) {
    const url = new URL(req.url, 'http://x');
    const parts = decodeURIComponent(url.pathname).split('/').slice(1);
    if (url.pathname === '/') return res.writeHead(200, { 'content-type': 'text/html' }).end(blank);
    if (parts[0] === 'folders') return folder(join(folders.testdata, parts[1]), res);
    if (parts[0] === 'servers') return drive(parts.slice(1), req, res);
    const root = roots[parts[0]];
    if (root === undefined || parts.includes('..')) return res.writeHead(404).end();
    return file(join(root, ...parts.slice(1)), req, res);
  }

  async function drive([id, method], req, res) {
    const body = [];
    for await (const part of req) body.push(part);
    const { args, behaviour, objects } = unpacked(new Uint8Array(Buffer.concat(body)));
    let reply;
    if (!id) {
      const made = await serve(new Map(objects), behaviour);
      reply = { id: servers.push(made), url: made.url };
    } else {
      reply = await servers[id - 1][method](...args, ...objects.map(([, bytes]) => bytes));
    }
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply ?? null));
  }
}

/** All files of a folder in one answer. */
async function folder(root, res) {
  const files = (await readdir(root, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const objects = await Promise.all(files.map(async (entry) => {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    return [path.slice(root.length + 1), await readFile(path)];
  }));
  res.writeHead(200, { 'content-type': 'application/octet-stream' }).end(Buffer.from(await packed({ objects }).arrayBuffer()));
}

async function file(path, req, res) {
  let real, what;
  try {
    real = await realpath(path);
    what = await stat(real);
  } catch {
    return res.writeHead(404).end();
  }
  if (!what.isFile()) return res.writeHead(403).end();
  const headers = {
    'content-type': types[extname(real)] ?? 'application/octet-stream',
    etag: `"${what.mtimeMs}-${what.size}"`,
    'accept-ranges': 'bytes',
    'cache-control': 'no-cache',
  };
  const asked = /^bytes=(\d*)-(\d*)$/.exec(req.headers.range ?? '');
  let [start, stop] = [0, what.size];
  if (asked !== null) {
    start = asked[1] === '' ? Math.max(0, stop - Number(asked[2])) : Number(asked[1]);
    if (asked[1] !== '' && asked[2] !== '') stop = Math.min(stop, Number(asked[2]) + 1);
    if (start >= stop) return res.writeHead(416, { 'content-range': `bytes */${what.size}` }).end();
    headers['content-range'] = `bytes ${start}-${stop - 1}/${what.size}`;
  }
  res.writeHead(asked === null ? 200 : 206, { ...headers, 'content-length': stop - start });
  if (req.method === 'HEAD' || start === stop) return res.end();
  pipeline(createReadStream(real, { start, end: stop - 1 }), res, () => {}); // a reader who leaves is no failure
}
