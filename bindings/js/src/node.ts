/// <reference types="node" />
/** What only Node can do: files as stores and as containers, codecs of node:zlib. */
import { basename, dirname, resolve } from 'node:path';
import * as zlib from 'node:zlib';

import type { Codecs, DecodeFunction } from './codecs.js';
import type { FileSource } from './container.js';
import type { Locker } from './file-locks.js';
import { NodeFileSystem } from './file-system.js';

export { lockers, type Locker } from './file-locks.js';
export { NodeFileSystem } from './file-system.js';
export { fileStore, FileStore, type FileOptions } from './file-store.js';

/** From this size on a chunk is decoded on another thread. */
const WORTH_A_THREAD = 256 * 1024;

interface Unpacked {
  buffer: Uint8Array;
  engine: { bytesWritten: number };
}

/** `size` bounds the output; bytes after the end are refused, as the guest refuses them. */
const gzip: DecodeFunction = (encoded, size) => {
  const options = { maxOutputLength: Math.max(1, size), info: true };
  const whole = ({ buffer, engine }: Unpacked) => {
    if (engine.bytesWritten !== encoded.length) throw new RangeError('bytes after the end');
    return buffer;
  };
  if (size < WORTH_A_THREAD) return whole(zlib.gunzipSync(encoded, options) as unknown as Unpacked);
  return new Promise((resolve, reject) => {
    zlib.gunzip(encoded, options, (error, unpacked) => {
      if (error !== null) return reject(error);
      try {
        resolve(whole(unpacked as unknown as Unpacked));
      } catch (trailing) {
        reject(trailing as Error);
      }
    });
  });
};

type ZstdSync = (encoded: Uint8Array, options: { maxOutputLength: number }) => Uint8Array;

const zstdSync = (zlib as { zstdDecompressSync?: ZstdSync }).zstdDecompressSync;

/** Codecs to lend: gzip, and zstd where this Node has it (22.15). */
export const codecs: Codecs = {
  gzip,
  ...(zstdSync === undefined
    ? {}
    : { zstd: ((encoded, size) => zstdSync(encoded, { maxOutputLength: Math.max(1, size) })) satisfies DecodeFunction }),
};

/**
 * A container by its path. The guest reaches what is in its directory, with blocking calls, and nothing else. `locker` is
 * how it is locked, one of `lockers`.
 */
export function containerFile(path: string, options: { locker?: Locker } = {}): FileSource {
  const whole = resolve(path);
  return { files: new NodeFileSystem(dirname(whole), options.locker), name: basename(whole) };
}
