// What a script in Node writes, as the compiler reads it.
import { Gridhold, type NDArray } from '@gridhold/gridhold';
import { NodeFileSystem, codecs, containerFile, fileStore, lockers } from '@gridhold/gridhold/node';

const gridhold = await Gridhold.load({ codecs });
const array = await gridhold.openArray(fileStore('data.zarr', { blocking: true }));
const made: NDArray = await gridhold.createArray('a.b2nd', { shape: [1], dtype: 'int32', locking: true });
await made.append(Int32Array.of(1));
await using copy = await made.copy(containerFile('b.b2nd', { locker: lockers.any }), { chunks: [1] });
await copy.vlmeta.set('a', { b: 1 });
for await (const chunk of copy.iterChunks()) console.log(chunk.length);
console.log(array.shape, new NodeFileSystem('.').names(''));
// @ts-expect-error there is no such durability
await gridhold.createArray('c.b2nd', { shape: [1], dtype: 'int32', durability: 'always' });
