// The file of all shard indexes of an array.

import { blobStore } from './blob-store.js';
import { objectAt, type HttpStore, type Store } from './store.js';

/** Where an index pack is: its URL, its bytes, or the key of it in a store. */
export type IndexPack = string | URL | Blob | Uint8Array<ArrayBuffer> | { store: HttpStore | Store; key: string };

/** @internal The same, as a store and a key in it. */
export function placeOf(pack: IndexPack): { store: HttpStore | Store; key: string } {
  if (typeof pack === 'string' || pack instanceof URL) return objectAt(pack);
  if (pack instanceof Blob) return { store: blobStore(pack), key: 'pack' };
  if (pack instanceof Uint8Array) return { store: blobStore(new Blob([pack])), key: 'pack' };
  return pack;
}
