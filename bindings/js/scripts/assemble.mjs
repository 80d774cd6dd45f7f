// What the compiler leaves to do: the guest beside the compiled binding, where
// `new URL` finds it, the licence, and nothing of sources that are no more.
import { copyFileSync, existsSync, readdirSync, rmSync } from 'node:fs';

const here = (path) => new URL(`../${path}`, import.meta.url);

copyFileSync(here('../../wasm/gridhold.wasm'), here('dist/gridhold.wasm'));
copyFileSync(here('../../LICENSE'), here('LICENSE'));
for (const name of readdirSync(here('dist'))) {
  const source = /^(.*?)(\.d\.ts|\.js)$/.exec(name);
  if (source !== null && !existsSync(here(`src/${source[1]}.ts`))) rmSync(here(`dist/${name}`));
}
