// Reads a few single subchunks of an array in a directory or behind a URL,
// without and with a cache of shard indexes, and says what that took.
// usage: node examples/subchunk.mjs PATH|URL [COUNT]
import { Gridhold } from '@gridhold/gridhold';
import { fileStore } from '@gridhold/gridhold/node';

const [where, count = '6'] = process.argv.slice(2);
if (where === undefined) {
  console.error('usage: node examples/subchunk.mjs PATH|URL [COUNT]');
  process.exit(2);
}

const seen = { loads: 0, requests: 0, bytes: 0 };
const note = (requests, isIndex, bytes) => {
  seen.requests += requests;
  seen.loads += isIndex ? 1 : 0;
  seen.bytes += bytes;
};

// A store of one's own: here one that counts what another is asked.
const counted = (store) => ({
  async read(key, ranges, version, signal) {
    const answer = await store.read(key, ranges, version, signal);
    const bytes = answer?.data.reduce((n, part) => n + part.length, 0) ?? 0;
    note(ranges.length, ranges.some((range) => 'suffix' in range), bytes);
    return answer;
  },
});

// And a fetch of one's own, for URLs.
const countedFetch = async (url, init) => {
  const response = await fetch(url, init);
  const range = new Headers(init.headers).get('range') ?? '';
  note(1, range.startsWith('bytes=-'), Number(response.headers.get('content-length') ?? 0));
  return response;
};

const gridhold = await Gridhold.load({ fetch: countedFetch });
const array = await gridhold.openArray(/^https?:/.test(where) ? where : counted(fileStore(where)));
console.log(`${array.dtype} ${array.shape.join('x')}, subchunks of ${array.effectiveSubchunkShape?.join('x') ?? 'many shapes'}`);

for (const shardCache of [undefined, array.shardCache()]) {
  Object.assign(seen, { loads: 0, requests: 0, bytes: 0 });
  console.log(shardCache ? 'with a cache' : 'without a cache');
  for (let k = 0; k < Number(count); k++) {
    const index = array.subchunkGridShape.map((length, axis) => (k * (3 + 2 * axis)) % length);
    const { data } = await array.retrieveSubchunk(index, { shardCache });
    console.log(`  [${index}]: ${Array.from(data.slice(0, 6), String).join(' ')} …`);
  }
  console.log(`  index loads ${seen.loads}, requests ${seen.requests}, bytes ${seen.bytes}`);
}
gridhold.close();
