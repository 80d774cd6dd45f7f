// The cases, in a page and in a module worker of headless Chromium.
import { after, before, test } from 'node:test';

import { hasBrowser, launch, openPage } from './browser.mjs';
import { cases } from './cases.mjs';
import { equal } from './check.mjs';
import { openSite } from './site.mjs';

// `make test` says that there has to be a browser; elsewhere these are left out.
const skip = !hasBrowser && process.env.REQUIRE_BROWSER === undefined ? 'there is no Chromium here' : false;

let site, browser, page;
before(async () => {
  if (skip) return;
  site = await openSite();
  browser = await launch();
  page = await openPage(browser, site.url);
  await page.addScriptTag({ type: 'module', url: '/test/in-page.mjs' });
  await page.waitForFunction(() => globalThis.runs !== undefined);
});
after(async () => {
  await browser?.close();
  await site?.close();
});

// What takes long, and is the same in every engine, is Node's to show.
const inPage = Object.keys(cases).filter((name) => !/does not creep/.test(name));
for (const name of inPage) {
  test(`in a page: ${name}`, { skip }, async () => {
    equal(await page.evaluate((name) => globalThis.runs(name), name), '');
    equal(page.complaints.splice(0), [], 'complaints');
  });
}

// The loop, the clocks and the loader are other ones in a worker; what the guest decodes is not.
const inWorker = Object.keys(cases).filter((name) => /says what it is|32 reads|storm|an abort|timers|HTTP: (ranges|what)|pool: (each|over)/.test(name));
for (const name of inWorker) {
  test(`in a worker: ${name}`, { skip }, async () => {
    equal(await page.evaluate((name) => globalThis.runsInWorker(name), name), '');
    equal(page.complaints.splice(0), [], 'complaints');
  });
}

test('the example, a page without a build step', { skip }, async () => {
  const example = await openPage(browser, `${site.url}/examples/page.html?url=/testdata/zarr/ome_pyramid`);
  const said = () => example.textContent('#said');
  await example.waitForFunction(() => !document.getElementById('said').textContent.startsWith('Give'));
  equal(await said(), 'img: 50 x 40, 3 levels, values from 150 to 1249');
  equal(example.complaints, []);
  await example.goto(`${site.url}/examples/page.html?url=/testdata/none`);
  await example.waitForFunction(() => !document.getElementById('said').textContent.startsWith('Give'));
  equal((await said()).split(':')[0], 'NotFoundError');
  await example.close();
});
