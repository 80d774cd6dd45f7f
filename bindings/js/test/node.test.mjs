// The cases, in Node.
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import Zstd from 'numcodecs/zstd';

import * as lib from '@gridhold/gridhold';
import { fileStore } from '@gridhold/gridhold/node';

import { cases } from './cases.mjs';
import { manifests, runCase } from './environment.mjs';
import { serve } from './server.mjs';
import { openSite } from './site.mjs';

const testdata = fileURLToPath(new URL('../../../testdata/', import.meta.url));
const stores = {};
const store = (folder) => (stores[folder] ??= fileStore(`${testdata}${folder}`));

let site, around;
before(async () => {
  site = await openSite();
  const wasm = await lib.Gridhold.compile(); // once: it takes longer than most cases
  around = { lib, wasm, zstd: Zstd, codecModule: new URL('lent.mjs', import.meta.url), serve, store, url: `${site.url}/testdata/`, ...(await manifests(store)) };
});
after(async () => {
  await site.close();
  for (const each of Object.values(stores)) each.close();
});

for (const [name, run] of Object.entries(cases)) test(name, () => runCase(run, around));
