// Random single subchunks a second of one array, its shard indexes warm.
// usage: node bench/reads.mjs DIR [SECONDS]; one line of JSON for each way.
// The CPU time of this process is steadier than the clock on a busy machine.
import { Gridhold } from '@gridhold/gridhold';
import { codecs as platform, fileStore } from '@gridhold/gridhold/node';
import Zstd from 'numcodecs/zstd';

const [directory, seconds = '1'] = process.argv.slice(2);
if (directory === undefined) {
  console.error('usage: node bench/reads.mjs DIR [SECONDS]');
  process.exit(2);
}

for (const [lent, codecs] of Object.entries({ none: {}, numcodecs: { zstd: Zstd }, platform })) {
  const gridhold = await Gridhold.load({ codecs });
  for (const blocking of [false, true]) {
    const store = fileStore(directory, { blocking });
    const array = await gridhold.openArray(store);
    const shardCache = array.shardCache();
    const index = array.subchunkGridShape.map(() => 0);
    const random = () => index.map((_, axis) => Math.floor(Math.random() * array.subchunkGridShape[axis]));
    const perShard = array.chunkShape.map((length, axis) => length / array.effectiveSubchunkShape[axis]);
    for (const shard of grid(array.chunkGridShape)) {
      await array.retrieveSubchunk(shard.map((at, axis) => at * perShard[axis]), { shardCache });
    }
    for (const [inFlight, batch] of [[1, 1], [16, 1], [1, 64]]) {
      await run(200, inFlight, batch); // warm up
      const { reads, took, cpu } = await run(Number(seconds) * 1000, inFlight, batch);
      const [readsPerSecond, cpuMicroseconds] = [Math.round((reads / took) * 1000), Math.round((cpu / reads) * 10) / 10];
      console.log(JSON.stringify({ lent, blocking, inFlight, batch, readsPerSecond, cpuMicroseconds }));
    }
    array.close();
    store.close();

    async function run(ms, inFlight, batch) {
      const start = performance.now();
      const before = process.cpuUsage();
      let reads = 0;
      const read = batch === 1
        ? () => array.retrieveSubchunk(random(), { shardCache })
        : () => array.retrieveSubchunks(Array.from({ length: batch }, random), { shardCache });
      const reader = async () => {
        for (; performance.now() - start < ms; reads += batch) await read();
      };
      await Promise.all(Array.from({ length: inFlight }, reader));
      const { user, system } = process.cpuUsage(before);
      return { reads, took: performance.now() - start, cpu: user + system };
    }
  }
  gridhold.close();
}

function* grid(shape) {
  const total = shape.reduce((n, length) => n * length, 1);
  for (let k = 0; k < total; k++) {
    let rest = k;
    yield shape.map((_, axis) => {
      const below = shape.slice(axis + 1).reduce((n, length) => n * length, 1);
      const at = Math.floor(rest / below);
      rest %= below;
      return at;
    });
  }
}
