// Reads single subchunks through @gridhold/gridhold as it is told on standard
// input. usage: reads.mjs DIR. README.md has the protocol; "threads" is how many
// reads are in flight.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Gridhold } from '../bindings/js/dist/index.node.js';
import { fileStore } from '../bindings/js/dist/node.js';

const [directory] = process.argv.slice(2);
const edge = 256, shard = 32; // of the grid of subchunks, and of a shard in it
const picks = JSON.parse(readFileSync(`${directory}/picks.json`, 'utf8'));
const gridhold = await Gridhold.load();
const readers = new Map();

async function reader(name) {
  const array = await gridhold.openArray(fileStore(`${directory}/${name}`));
  const shardCache = array.shardCache();
  const read = (at) => array.retrieveSubchunk(at, { shardCache });
  for (let i = 0; i < edge; i += shard) for (let j = 0; j < edge; j += shard) await read([i, j]);
  return read;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { array, threads, count } = JSON.parse(line);
  if (!readers.has(array)) readers.set(array, await reader(array));
  const read = readers.get(array);
  let next = 0, check = 0;
  const began = performance.now();
  await Promise.all(Array.from({ length: threads }, async () => {
    while (next < count) {
      const { data } = await read(picks[next++]);
      check += data[0]; // not around the await, where others add too
    }
  }));
  console.log(JSON.stringify({ seconds: (performance.now() - began) / 1e3, check }));
}
