// The page that browser.mjs measures in.
import { Gridhold } from '@gridhold/gridhold';
import Zstd from 'numcodecs/zstd';
import * as zarrita from 'zarrita';

const readers = {};

/** Opens the array behind a URL in each way, and gives their names. */
globalThis.ways = async (url) => {
  const theirs = await zarrita.open(new zarrita.FetchStore(url), { kind: 'array' });
  readers.zarrita = async (at) => (await theirs.getChunk(at)).data;
  const wasm = await Gridhold.compile();
  for (const [way, options] of Object.entries({ 'gridhold, numcodecs lent': { codecs: { zstd: Zstd } }, 'gridhold, its own codecs': {}, 'gridhold, a pool of 2': { pool: 2 } })) {
    const array = await (await Gridhold.load({ wasm, ...options })).openArray(url);
    const shardCache = array.shardCache();
    readers[way] = async (at) => (await array.retrieveSubchunk(at, { shardCache })).data;
  }
  const sums = await Promise.all(Object.values(readers).map(async (read) => (await read([3, 5])).join()));
  if (new Set(sums).size > 1) throw new Error('they read different things');
  return Object.keys(readers);
};

/** Reads 128 random subchunks of 16 shards, the same in each way, and tells what that took. */
globalThis.measure = async (way, round) => {
  let seed = 7 * round + 3;
  const random = () => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) >>> 8;
  const picks = Array.from({ length: 128 }, () => [random() % 32, random() % 32]);
  let next = 0;
  const reader = async () => {
    while (next < picks.length) await readers[way](picks[next++]);
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: 16 }, reader));
  return { reads: picks.length, seconds: (performance.now() - start) / 1000 };
};
