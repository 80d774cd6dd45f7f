// Random single subchunks a second in a page of headless Chromium, over a
// server on the loopback interface, their shard indexes warm, 16 in flight:
// ours and zarrita with numcodecs in the same page, taking turns. On a busy
// machine the best of all rounds tells more than the median, and the
// processor's time of the page more than either.
// usage: node bench/browser.mjs [ROUNDS [RESULTS.jsonl]]
import { writeFileSync } from 'node:fs';
import Zstd from 'numcodecs/zstd';

import { shardedArray } from '../test/arrays.mjs';
import { launch, openPage } from '../test/browser.mjs';
import { serve } from '../test/server.mjs';
import { openSite } from '../test/site.mjs';

const rounds = Number(process.argv[2] ?? 15);
const results = process.argv[3], figures = []; // bench/results.py has what a line says
const codec = Zstd.fromConfig({ level: 3 });
// Waves and 4 bits of noise: 2 KiB and 32 KiB a subchunk.
let seed = 1;
const noise = () => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) >>> 28;
const value = (r, c) => Math.round(20000 + 9000 * Math.sin(c / 47) * Math.cos(r / 67)) + noise();
const codecs = [{ name: 'zstd', configuration: { level: 3, checksum: false } }];

const site = await openSite();
const browser = await launch();
try {
  for (const edge of [32, 128]) await run(edge);
  if (results) writeFileSync(results, figures.map((figure) => `${JSON.stringify(figure)}\n`).join(''));
} finally {
  await browser.close();
  await site.close();
}

async function run(edge) {
  const objects = await shardedArray({ grid: [4, 4], per: [8, 8], sub: [edge, edge], value, codecs, encode: (bytes) => codec.encode(bytes) });
  const server = await serve(objects);
  const page = await openPage(browser, site.url);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable');
  const busy = async () => (await devtools.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'ProcessTime').value;
  await page.addScriptTag({ type: 'module', url: '/bench/page.mjs' });
  await page.waitForFunction(() => globalThis.ways !== undefined);
  const ways = await page.evaluate((url) => globalThis.ways(url), server.url);
  const seen = Object.fromEntries(ways.map((way) => [way, { rates: [], costs: [] }]));
  await server.taken();
  for (let round = -1; round < rounds; round++) {
    for (const way of ways) {
      const before = await busy();
      const { reads, seconds } = await page.evaluate(([way, round]) => globalThis.measure(way, round), [way, round]);
      const cost = ((await busy()) - before) / reads;
      if (round < 0) continue; // the first one warms up
      seen[way].rates.push(reads / seconds);
      seen[way].costs.push(cost * 1e6);
    }
  }
  const { requests } = await server.taken();
  const [theirs] = ways;
  for (const way of ways) {
    const { rates, costs } = seen[way];
    const ratio = median(rates.map((rate, i) => rate / seen[theirs].rates[i]));
    const best = Math.max(...rates) / Math.max(...seen[theirs].rates);
    const cheaper = median(costs.map((cost, i) => seen[theirs].costs[i] / cost));
    if (way !== theirs) figures.push({
      what: `${edge} x ${edge}, ${way}`, of: 'browser', peer: 'zarrita', unit: 'reads/s', ours: median(rates), theirs: median(seen[theirs].rates), ratio,
      quartiles: [0.25, 0.75].map((q) => quantile(rates.map((rate, i) => rate / seen[theirs].rates[i]), q)), rounds, goal: null, most: false, cpu_ratio: cheaper,
    });
    console.log([
      `${edge} x ${edge}, ${way}`.padEnd(36),
      `${String(Math.round(median(rates))).padStart(5)} reads/s`,
      `${ratio.toFixed(2)} x zarrita, at best ${best.toFixed(2)}`,
      `${Math.round(median(costs))} us of the page's processor a read, ${cheaper.toFixed(2)} x`,
    ].join('   '));
  }
  console.log(`${edge} x ${edge}: ${requests.filter(({ method }) => method === 'OPTIONS').length} preflights in ${requests.length} requests`);
  await page.close();
  await server.close();
}

function quantile(numbers, q) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.round(q * (sorted.length - 1))];
}

function median(numbers) {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
}
