// The cases, in Node.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';

import Zstd from 'numcodecs/zstd';

import * as lib from '@gridhold/gridhold';
import { fileStore } from '@gridhold/gridhold/node';

import { cases } from './cases.mjs';
import { serve } from './server.mjs';

const wasm = await lib.Gridhold.compile(); // once: it takes longer than most cases
const root = new URL('../../../testdata/zarr/', import.meta.url);
const [manifest, corrupt] = ['manifest.json', 'corrupt.json'].map((name) => JSON.parse(readFileSync(new URL(name, root), 'utf8')));

for (const [name, run] of Object.entries(cases)) {
  test(name, async () => {
    const open = [];
    const kept = async (promise) => {
      const made = await promise;
      open.push(made);
      return made;
    };
    const fixtures = fileStore(fileURLToPath(root));
    open.push(fixtures);
    try {
      await run({
        lib,
        manifest,
        corrupt,
        fixtures,
        zstd: Zstd,
        load: (options = {}) => kept(lib.Gridhold.load(options.memory ? options : { wasm, ...options })),
        serve: (objects) => kept(serve(objects)),
      });
    } finally {
      for (const made of open.reverse()) made.close();
    }
  });
}
