// Debian's Chromium without a window, and pages in it. scripts/chromium.sh
// installs it; CHROMIUM names another one.
import { existsSync } from 'node:fs';

import { chromium } from 'playwright-core';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';

/** Whether there is a browser here. */
export const hasBrowser = existsSync(executablePath);

/** Starts the browser. Close it. */
export function launch() {
  return chromium.launch({ executablePath, timeout: 180_000, args: ['--no-sandbox', '--disable-dev-shm-usage', '--js-flags=--expose-gc'] });
}

/**
 * Opens a page. Its `complaints` gathers what is thrown there and logged as an
 * error, but for failed requests, which tests provoke.
 */
export async function openPage(browser, url) {
  const page = await browser.newPage();
  page.setDefaultTimeout(180_000); // half a minute is not much on a machine that does other things
  page.complaints = [];
  page.on('pageerror', (error) => page.complaints.push(String(error?.stack ?? error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/Failed to load resource|CORS policy/.test(message.text())) page.complaints.push(message.text());
  });
  await page.goto(url);
  return page;
}
