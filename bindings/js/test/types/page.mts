// What a page writes, as the compiler reads it.
import {
  GridArray,
  Gridhold,
  GridholdError,
  NDArray,
  NotFoundError,
  blobStore,
  httpStore,
  originPrivate,
  platformCodecs,
  type Codecs,
  type ImageLocation,
  type NdArray,
  type ReadAnswer,
  type Store,
} from '@gridhold/gridhold';

const codecs: Codecs = { ...platformCodecs, zstd: (encoded, size) => new Uint8Array(encoded.length + size) };
using gridhold = await Gridhold.load({ codecs, memory: 1 << 28 });
await Gridhold.load({ pool: 2, codecs: new URL('https://example.org/codecs.js') });
// @ts-expect-error a number is wanted
await Gridhold.load({ pool: 'two' });

const store: Store = {
  async read(key, ranges, version, signal): Promise<ReadAnswer | undefined> {
    signal.throwIfAborted();
    return key === version ? undefined : { data: ranges.map(() => new Uint8Array()) };
  },
};
for (const source of [store, new Blob([]), 'zip://https://example.org/a.zip', httpStore('https://example.org', { gap: -1 })]) {
  const array: GridArray = await gridhold.openArray(source, { path: 'a/b', signal: AbortSignal.timeout(1000) });
  const shardCache = array.shardCache({ budget: 1e6 });
  const { data, shape }: NdArray = await array.retrieveSubchunk([0, 0], { shardCache });
  const region = await array.retrieveRegion(shape.map(() => 0), shape);
  console.log(data, region.bytes.buffer, array.effectiveSubchunkShape?.[0]);
  // @ts-expect-error a place has numbers
  await array.retrieveSubchunk(['0', 0]);
}
const image = await gridhold.openMultiscale('https://example.org/image.zarr');
console.log(image.levels[0]?.shape, image.levelFor({ x: 2 }), (await image.retrieveRegion(0, [0], [1])).dtype);
const container = await gridhold.openContainer(new File([], 'a.b2nd'));
if (container instanceof NDArray) for await (const tick of container.watch({ interval: 10 })) console.log(tick, container.shape);
const stack = await gridhold.openStack('https://example.org/a.mrcs');
const { rows } = await gridhold.readTable('https://example.org/a.star');
const locations: ImageLocation[] = rows;
using scratch = await gridhold.createHostImageScratch(locations, 16, 1e8, { source: 'https://example.org' }, { file: originPrivate('a') });
console.log(stack.length, await scratch.stats(), blobStore(new Blob([])));
try {
  await gridhold.openGroup('https://example.org');
} catch (error) {
  if (error instanceof NotFoundError) console.log(error.item);
  if (error instanceof GridholdError) console.log(error.code === 'Corrupt', error.offset);
}
