// The cases, in a page or a module worker of the test site. A page has
// `runs(name)` and `runsInWorker(name)`; a worker is told a name and answers.
import * as lib from '/dist/index.js';
import Zstd from '/modules/numcodecs/dist/zstd.js';

import { MemoryStore } from './arrays.mjs';
import { cases } from './cases.mjs';
import { manifests, runCase } from './environment.mjs';
import { serveFromAfar, unpacked } from './remote-server.mjs';

/** Objects of a folder; one that is a directory cannot be read. */
class Folder extends MemoryStore {
  #directories = new Set();

  constructor(objects) {
    super(objects);
    for (const key of objects.keys()) {
      for (let at = key.lastIndexOf('/'); at > 0; at = key.lastIndexOf('/', at - 1)) this.#directories.add(key.slice(0, at));
    }
  }

  async read(key, ranges) {
    if (this.#directories.has(key)) throw new Error(`${key}: is a directory`);
    this.requests.length = 0;
    return super.read(key, ranges);
  }
}

// No await at the top: a worker would miss what it is told meanwhile.
const ready = (async () => {
  const folders = {};
  // Each fetched at once: a request for each chunk takes a browser a minute.
  await Promise.all(['zarr', 'blosc2', 'images', 'requests'].map(async (folder) => {
    const body = await (await fetch(`/folders/${folder}`)).arrayBuffer();
    folders[folder] = new Folder(new Map(unpacked(new Uint8Array(body)).objects));
  }));
  const store = (folder) => folders[folder];
  const wasm = await lib.Gridhold.compile();
  return { lib, wasm, zstd: Zstd, codecModule: new URL('lent-in-page.mjs', import.meta.url), serve: serveFromAfar, store, url: new URL('/testdata/', location.href).href, ...(await manifests(store)) };
})();

/** Runs a case; answers what went wrong, or "". */
async function runs(name) {
  try {
    await runCase(cases[name], await ready);
    return '';
  } catch (error) {
    return String(error?.stack ?? error);
  }
}

if (typeof document === 'undefined') {
  addEventListener('message', async ({ data: name }) => postMessage(await runs(name)));
} else {
  let worker;
  globalThis.runs = runs;
  globalThis.runsInWorker = (name) => new Promise((resolve, reject) => {
    worker ??= new Worker(import.meta.url, { type: 'module' });
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage(name);
  });
}
