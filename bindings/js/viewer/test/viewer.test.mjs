// The page of `gridhold serve` in Chromium, over the command itself: each
// kind is opened and used as people do, by pointer, keys and labels.
//
// SCREENSHOTS=DIR leaves pictures of the page there.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { hasBrowser, launch, openPage } from '../../test/browser.mjs';
import { until } from '../../test/check.mjs';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const skip = hasBrowser || process.env.REQUIRE_BROWSER ? false : 'no Chromium';
const dir = mkdtempSync(join(tmpdir(), 'gridhold-viewer-'));
const data = join(dir, 'data');
const [gridhold, demo] = [join(dir, 'gridhold'), join(dir, 'demo')];
let browser;
let server; // what the page is of

before(async () => {
  if (skip) return;
  for (const [out, source] of [[gridhold, './cmd/gridhold'], [demo, './examples/viewer']]) {
    execFileSync('go', ['build', '-o', out, source], { cwd: root, stdio: 'inherit' });
  }
  execFileSync(demo, [data]);
  server = await serve();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.end();
  rmSync(dir, { recursive: true, force: true });
});

/** Starts the command on a free port. */
async function serve() {
  const child = spawn(gridhold, ['serve', '--listen', '127.0.0.1:0', data], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  const [line] = await Promise.race([once(child.stdout, 'data'), exit.then((how) => assert.fail(`it ended: ${how}`))]);
  const end = async () => {
    child.kill('SIGTERM');
    assert.deepEqual(await exit, [0, null]);
  };
  return { url: String(line).trim(), end };
}

/** Opens the page at a path; complaints of the page fail the test. */
async function look(t, path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 960, height: 600 }, ...options });
  const page = await openPage({ newPage: () => context.newPage() }, `${server.url}.gridhold/#/${path}`);
  t.after(async () => {
    assert.deepEqual(page.complaints, []);
    await context.close();
  });
  return page;
}

async function picture(page, name) {
  if (!process.env.SCREENSHOTS) return;
  mkdirSync(process.env.SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`) });
}

/** Waits until what the canvas shows is all read, and returns what the line below says. */
async function settled(page, pattern = /./) {
  await page.waitForFunction(
    (source) => document.querySelector('canvas')?.getAttribute('aria-busy') === 'false' && new RegExp(source).test(document.querySelector('.under p')?.textContent),
    pattern.source,
  );
  return page.locator('.under p').first().textContent();
}

/** How many colours the canvas has, up to 99. */
function colours(page) {
  return page.locator('canvas').first().evaluate((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const seen = new Set();
    for (let i = 0; i < data.length && seen.size < 99; i += 4) if (data[i + 3] > 0) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return seen.size;
  });
}

/** Numbers of an array, by the command. */
function read(path, type, ...select) {
  const bytes = execFileSync(gridhold, ['read', join(data, path), ...select], { maxBuffer: 1 << 26 });
  return new type(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

const said = (page) => page.getByRole('status');

test('the list leads to what there is', { skip }, async (t) => {
  const page = await look(t, '');
  const list = page.getByRole('navigation', { name: 'What is here' });
  await list.getByText('Blosc2').waitFor();
  assert.deepEqual(await list.getByRole('link').allTextContents(), ['cells.ome.zarr/Zarr', 'particles.mrcsimages', 'waves.b2ndBlosc2']);
  await list.getByRole('link', { name: 'particles.mrcs' }).click();
  await page.getByRole('heading', { name: 'particles.mrcs' }).waitFor();
  assert.equal(await list.getByRole('link', { name: 'particles.mrcs' }).getAttribute('aria-current'), 'page');
  await page.goBack();
  await page.getByText('Choose what to open.').waitFor();
  await page.goto(`${server.url}.gridhold/#/absent.b2nd`);
  await page.getByRole('alert').getByText('NotFound').waitFor();
  // A browser that is sent to the directory itself finds the page.
  await page.goto(`${server.url}cells.ome.zarr/`);
  await settled(page);
  assert.equal(page.url(), `${server.url}.gridhold/#/cells.ome.zarr/`);
});

test('a pyramid', { skip }, async (t) => {
  const page = await look(t, 'cells.ome.zarr/');
  assert.match(await settled(page), /^1024 × 1024, level 1, zoom [\d.]+ %, z 0$/);
  const [first, view] = await page.evaluate(() => [performance.getEntriesByName('first pixel')[0].startTime, globalThis.viewer.view.firstPixel]);
  t.diagnostic(`first pixel ${Math.round(first)} ms after a cold start, ${Math.round(view)} ms after the pyramid was open`);
  await until(async () => (await colours(page)) === 99, 'a picture');
  const meter = page.getByRole('region', { name: 'What it cost' });
  await meter.getByText(/^\d\.\d\d MB$/).waitFor();
  const shown = await meter.locator('dd').allTextContents();
  assert.ok(Number(shown[0]) > 5 && Number(shown[2]) === 4 && parseFloat(shown[3]) > 0, shown.join());
  await picture(page, 'pyramid');

  const canvas = page.getByRole('application', { name: 'Picture' });
  await page.locator('body').press('Tab');
  await page.getByRole('link', { name: 'Skip to the view' }).press('Enter');
  assert.ok(await canvas.evaluate((c) => c === document.activeElement), 'the first canvas has the focus');
  // Keys: nearer until the finest level is read, one slice on, and the value in the middle.
  for (let i = 0; i < 8; i++) await canvas.press('+');
  await canvas.press('PageUp');
  assert.match(await settled(page, /z 1$/), /level 0/);
  await canvas.press('v');
  const values = ['0', '1'].map((c) => read('cells.ome.zarr', Uint16Array, '--path', '0', '--region', `${c}:${Number(c) + 1},1:2,512:513,512:513`)[0]);
  await said(page).getByText(`y 512, x 512: ${values.join(', ')}`).waitFor();
  await canvas.press('ArrowDown');
  await canvas.press('0');
  assert.match(await settled(page, /level 1/), /z 1/);

  // By labels.
  await page.getByLabel('z (micrometer)').fill('3');
  await settled(page, /z 3$/);
  await page.getByLabel('Level').selectOption('2');
  await settled(page, /level 2/);
  const before = await page.locator('canvas').screenshot();
  await page.getByRole('group', { name: 'nuclei' }).getByLabel('shown').uncheck();
  await page.getByRole('group', { name: 'membranes' }).getByLabel('high').fill('700');
  await settled(page);
  await until(async () => !before.equals(await page.locator('canvas').screenshot()), 'another picture');

  // The pointer: the wheel goes nearer to where it is, dragging moves.
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.wheel(0, -600);
  await settled(page, /zoom \d{3}/);
  await page.locator('.under p').nth(1).getByText(/^level 1, y 25[56], x 25[56]: \d+$/).waitFor();
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 + 100, box.y + box.height / 2);
  await page.mouse.up();
  await settled(page);
});

test('one array of the pyramid, in the dark', { skip }, async (t) => {
  const page = await look(t, 'cells.ome.zarr/1/', { colorScheme: 'dark' });
  await page.getByText('subchunks of 1 × 1 × 64 × 64 in shards of 1 × 1 × 512 × 512').waitFor();
  await settled(page);
  await until(async () => (await colours(page)) === 99, 'a picture');
  const [r] = (await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).match(/\d+/g).map(Number);
  assert.ok(r < 60, 'the ground is dark');
  await picture(page, 'dark');
});

test('a container that grows is followed', { skip }, async (t) => {
  const page = await look(t, 'waves.b2nd');
  await page.getByText('live, 16 × 384').waitFor();
  await settled(page, /^384 × 16/);
  const asked = [];
  page.on('request', (request) => asked.push(request.url()));
  for (const height of [112, 208, 304, 400]) {
    const writer = spawn(demo, ['-grow', '6', '-every', '40ms', data], { stdio: 'inherit' });
    assert.deepEqual(await once(writer, 'exit'), [0, null]);
    await page.getByText(`live, ${height} × 384`).waitFor();
  }
  t.diagnostic(`${asked.length} requests`);
  assert.deepEqual(asked.filter((u) => u.includes('?events')), [], 'one stream tells of all');
  await settled(page, /^384 × 400/);
  await page.getByLabel('Colours').selectOption('viridis');
  await settled(page);
  const row = read('waves.b2nd', Float32Array, '--region', '200:201,192:193')[0];
  await page.getByRole('application').press('v');
  await said(page).getByText(`y 200, x 192: ${Number(row.toPrecision(5))}`).waitFor();
  await until(async () => (await colours(page)) === 99, 'a picture');
  await picture(page, 'live');
  // Nothing is asked for while nothing happens: it is told, not looked for.
  await until(async () => {
    asked.length = 0;
    for (let i = 0; i < 30; i++) await page.evaluate(() => new Promise(requestAnimationFrame));
    return asked.length === 0;
  }, 'half a second without a request');
});

test('a stack of images', { skip }, async (t) => {
  const page = await look(t, 'particles.mrcs');
  await page.getByText('0 to 47 of 120').waitFor();
  assert.equal(await page.getByRole('button', { name: /^Image/ }).count(), 48);
  await picture(page, 'stack');
  await page.getByLabel('Image', { exact: true }).fill('77');
  await page.getByLabel('Image', { exact: true }).press('Enter');
  await page.getByText('48 to 95 of 120').waitFor();
  const picked = page.getByRole('button', { pressed: true });
  assert.equal(await picked.getAttribute('aria-label'), 'Image 77');
  const pixels = read('particles.mrcs', Float32Array, '--image', '77');
  const mean = pixels.reduce((a, b) => a + b, 0) / pixels.length;
  await page.locator('.chosen dd').nth(3).getByText(String(Number(mean.toPrecision(5)))).waitFor();
  await picked.focus();
  await page.keyboard.press('ArrowRight');
  await said(page).getByText(/^Image 78: Least/).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Image 78');
  await page.keyboard.press('End');
  await page.getByText('96 to 119 of 120').waitFor();

  // The percentiles set the contrast: at 0 and 100 the greatest alone is white.
  const white = () => page.locator('.chosen canvas').evaluate((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((v, i) => i % 4 === 0 && v === 255).length;
  });
  await page.getByRole('group', { name: /percentiles/ }).getByLabel('high').fill('60');
  await page.keyboard.press('Enter');
  await until(async () => (await white()) > 1000, 'much that is white');
  await page.getByRole('group', { name: /percentiles/ }).getByLabel('high').fill('100');
  await page.keyboard.press('Enter');
  await until(async () => (await white()) < 40, 'little that is white');
});

test('a page of elsewhere reads without asking first', { skip }, async (t) => {
  const other = await serve(); // another port is another origin
  t.after(() => other.end());
  const page = await look(t, '', { bypassCSP: true }); // the page itself may not
  const network = await page.context().newCDPSession(page);
  await network.send('Network.enable');
  const asked = new Map();
  network.on('Network.requestWillBeSent', ({ type, request: { url, method } }) => {
    if (url.startsWith(other.url)) asked.set(`${type} ${method}`, (asked.get(`${type} ${method}`) ?? 0) + 1);
  });
  const first = await page.evaluate(async (url) => {
    const { Gridhold } = await import('./gridhold/index.js');
    const gridhold = await Gridhold.load();
    const array = await gridhold.openArray(`${url}cells.ome.zarr`, { path: '0' });
    const shardCache = array.shardCache();
    for (let i = 0; i < 32; i++) await array.retrieveSubchunk([0, 0, i % 16, (7 * i) % 16], { shardCache });
    const container = await gridhold.openContainer(`${url}waves.b2nd`);
    const stack = await gridhold.openStack(`${url}particles.mrcs`);
    return [(await container.slice([0, 0])).data[0], (await stack.image(5)).data[0]];
  }, other.url);
  assert.deepEqual(first, [read('waves.b2nd', Float32Array, '--region', '0:1,0:1')[0], read('particles.mrcs', Float32Array, '--image', '5')[0]]);
  assert.ok(asked.get('Fetch GET') >= 38, [...asked].join());
  assert.equal(asked.get('Preflight OPTIONS'), undefined);
});
