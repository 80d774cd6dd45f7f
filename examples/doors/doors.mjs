// The door for JavaScript. usage: doors.mjs DIR
import { Gridhold } from '../../bindings/js/dist/index.node.js';
import { fileStore } from '../../bindings/js/dist/node.js';

const places = Array.from({ length: 8 }, (_, k) => [(5 * k) % 32, (11 * k) % 32]);
const seen = { loads: 0, requests: 0, bytes: 0 };

// Any object with `read` is a store: this one counts what a directory is asked for.
const directory = fileStore(process.argv[2]);
const counting = {
  async read(key, ranges, version, signal) {
    const answer = await directory.read(key, ranges, version, signal);
    seen.requests += ranges.length;
    seen.loads += ranges.filter((r) => 'suffix' in r).length; // the index is a shard's last bytes
    seen.bytes += answer?.data.reduce((n, b) => n + b.length, 0) ?? 0;
    return answer;
  },
};

const gridhold = await Gridhold.load();
const array = await gridhold.openArray(counting);
for (const shardCache of [undefined, array.shardCache()]) {
  Object.assign(seen, { loads: 0, requests: 0, bytes: 0 });
  let sum = 0;
  for (const at of places) {
    const { data } = await array.retrieveSubchunk(at, { shardCache });
    sum += data.reduce((a, b) => a + b, 0);
  }
  console.log(['Node', shardCache ? 'yes' : 'no', places.length, sum, seen.loads, seen.requests, seen.bytes].join('\t'));
}
await array.close();
