// The package as others get it: what is in it, and that it works installed into an empty project.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';

import { hasBrowser, launch, openPage } from './browser.mjs';
import { equal, ok } from './check.mjs';
import { openSite } from './site.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const skip = !hasBrowser && process.env.REQUIRE_BROWSER === undefined ? 'there is no Chromium here' : false;
const npm = (args, cwd) => execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

let project;
let packed;
before(() => {
  project = mkdtempSync(join(tmpdir(), 'gridhold-'));
  [packed] = JSON.parse(npm(['pack', '--json', '--ignore-scripts', '--pack-destination', project], root));
  writeFileSync(join(project, 'package.json'), '{ "name": "empty", "private": true, "type": "module" }');
  npm(['install', '--offline', '--no-audit', '--no-fund', join(project, packed.filename)], project);
});
after(() => rmSync(project, { recursive: true }));

test('it holds what it should, and nothing else', () => {
  const sources = readdirSync(join(root, 'src')).flatMap((name) => [name.replace(/ts$/, 'js'), name.replace(/ts$/, 'd.ts')]);
  const want = ['LICENSE', 'README.md', 'package.json', 'dist/gridhold.wasm', ...sources.map((name) => `dist/${name}`)];
  equal(packed.files.map(({ path }) => path).sort(), want.sort());
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  equal(dependencies, undefined);
});

test('what a page loads is at most 1.5 MB, as brotli', () => {
  const wasm = readFileSync(join(root, 'dist/gridhold.wasm'));
  // The build of the guest says how small it gets: that takes a while.
  const { sha256, brotli } = JSON.parse(readFileSync(join(root, '../../wasm/gridhold.json'), 'utf8'));
  equal(createHash('sha256').update(wasm).digest('hex'), sha256);
  const scripts = packed.files.filter(({ path }) => path.endsWith('.js')).map(({ path }) => brotliCompressSync(readFileSync(join(root, path))).length);
  const size = scripts.reduce((sum, n) => sum + n, brotli);
  ok(size <= 1_500_000, `${size} bytes`);
});

const script = `
import { Gridhold, blobStore } from '@gridhold/gridhold';
const gh = await Gridhold.load();
const metadata = { zarr_format: 3, node_type: 'array', shape: [2], data_type: 'uint8', chunk_grid: { name: 'regular', configuration: { chunk_shape: [2] } },
  chunk_key_encoding: { name: 'default' }, fill_value: 7, codecs: [{ name: 'bytes' }] };
const read = (key) => key === 'zarr.json' ? { data: [new TextEncoder().encode(JSON.stringify(metadata))] } : undefined;
const { data } = await (await gh.openArray({ read })).retrieveSubchunk([0]);
gh.close();
`;

test('installed, in Node', () => {
  writeFileSync(join(project, 'script.mjs'), `${script}\nconst { fileStore } = await import('@gridhold/gridhold/node');\nconsole.log(data.join(), typeof fileStore);`);
  equal(execFileSync('node', ['script.mjs'], { cwd: project, encoding: 'utf8' }).trim(), '7,7 function');
});

test('installed, in a page', { skip }, async () => {
  const site = await openSite({ project });
  const browser = await launch();
  try {
    const page = await openPage(browser, site.url);
    const where = '/project/node_modules/@gridhold/gridhold/dist/index.js';
    const got = await page.evaluate(
      ([script, where]) => import(URL.createObjectURL(new Blob([`${script.replace("'@gridhold/gridhold'", `'${new URL(where, location.href)}'`)}\nexport default data.join();`], { type: 'text/javascript' }))).then((m) => m.default),
      [script, where],
    );
    equal(got, '7,7');
    equal(page.complaints, []);
  } finally {
    await browser.close();
    await site.close();
  }
});

test('its types, strictly', () => {
  cpSync(join(root, 'test/types'), join(project, 'types'), { recursive: true });
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const options = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--module', 'nodenext', '--target', 'es2022'];
  const check = (file, more) => execFileSync('node', [compiler, ...options, ...more, join('types', file)], { cwd: project, encoding: 'utf8' });
  try {
    check('page.mts', ['--skipDefaultLibCheck', '--lib', 'es2023,esnext.disposable,dom,dom.iterable']);
    check('script.mts', ['--skipLibCheck', '--lib', 'es2023,esnext.disposable,dom,dom.iterable', '--typeRoots', join(root, 'node_modules/@types'), '--types', 'node']);
  } catch (error) {
    throw new Error(error.stdout || error);
  }
});
