// The array that testdata/README tells of: 16 shards of 1024 subchunks each.

/** Subchunk k of a shard. */
export const piece = (k) => Uint8Array.from({ length: 256 }, (_, i) => 31 * k + 7 * i);

/** Its objects; `metadata` is its zarr.json. */
export function field(metadata) {
  const shard = new Uint8Array(1024 * (256 + 16));
  const index = new DataView(shard.buffer, 1024 * 256);
  for (let k = 0; k < 1024; k++) {
    shard.set(piece(k), 256 * k);
    index.setBigUint64(16 * k, BigInt(256 * k), true);
    index.setBigUint64(16 * k + 8, 256n, true);
  }
  const objects = new Map([['zarr.json', metadata]]);
  for (let s = 0; s < 16; s++) objects.set(`c/${s >> 2}/${s % 4}`, shard);
  return objects;
}

/** 256 subchunks, 16 of each shard: their places, and which of its shard each is. */
export const picks = Array.from({ length: 256 }, (_, i) => {
  const [j, s] = [i >> 4, i % 16];
  const k = (61 * j + 17 * s) % 1024;
  return { k, at: [(s >> 2) * 32 + (k >> 5), (s % 4) * 32 + (k % 32)] };
});

/** Reads them, `inFlight` at once, and holds each against what it should be. */
export async function readAll(array, options, inFlight, equal) {
  let next = 0;
  const reader = async () => {
    while (next < picks.length) {
      const { k, at } = picks[next++];
      equal((await array.retrieveSubchunk(at, options)).data, piece(k), `subchunk ${at}`);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, reader));
}
