// Random single subchunks a second of one array, its shard indexes warm.
// usage: node bench/reads.mjs DIR [SECONDS]; one line of JSON for each way.
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
    for (const inFlight of [1, 16]) {
      await run(200, inFlight); // warm up
      const { reads, took } = await run(Number(seconds) * 1000, inFlight);
      console.log(JSON.stringify({ lent, blocking, inFlight, readsPerSecond: Math.round((reads / took) * 1000) }));
    }
    array.close();
    store.close();

    async function run(ms, inFlight) {
      const start = performance.now();
      let reads = 0;
      const reader = async () => {
        for (; performance.now() - start < ms; reads++) await array.retrieveSubchunk(random(), { shardCache });
      };
      await Promise.all(Array.from({ length: inFlight }, reader));
      return { reads, took: performance.now() - start };
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
