// Opening and making containers.

import { Kind } from './abi.js';
import { Core, fileOf, json, type CallOptions, type FileSource } from './container.js';
import { InvalidError } from './errors.js';
import { NDArray, SChunk, bytesOf, type Items } from './frame.js';
import type { Gridhold } from './gridhold.js';
import { DictStore, EmbedStore, TreeStore, opened, type AnyContainer } from './key-store.js';
import { numpyCode } from './numpy.js';
import { integers } from './request.js';
import { objectIn, type Source } from './store.js';
import { how, modes, packing, type CreateOptions, type WriteOptions } from './writing.js';

/** How a container is opened. */
export interface ContainerOptions extends WriteOptions {
  /** The name of the object, where the source is a store. */
  path?: string;
  /** A key of the container: what lies under it is opened. */
  key?: string;
  /** `r` (default), or `a` to write too, which takes a file. */
  mode?: 'r' | 'a';
  /** Put back first what a program that died, or wrote an old header, has left unreachable. Takes `mode: 'a'`. */
  repair?: boolean;
  signal?: AbortSignal | undefined;
}

/** How an array is made. */
export interface ArrayOptions extends CreateOptions, CallOptions {
  shape: readonly number[];
  /** As NumPy writes it, or `"int32"`. */
  dtype: string;
  chunks?: readonly number[];
  blocks?: readonly number[];
  /** All items; the array appears with them. Without it holds zeros. */
  data?: Items;
}

/** How a sequence is made. */
export interface SChunkOptions extends CreateOptions, CallOptions {
  /** Bytes of an item; default 1. */
  typesize?: number;
  /** Bytes of a chunk; default: those of the first one. */
  chunksize?: number;
  data?: Items;
}

/** How a store is made. */
export interface StoreOptions extends WriteOptions, CallOptions {
  kind: 'embedstore' | 'dictstore' | 'treestore';
  /** Decoded bytes that make a leaf a file of its own; 0: all are. */
  threshold?: number;
}

/** Opens a container. */
export async function openContainer(gridhold: Gridhold, source: Source | FileSource, options: ContainerOptions): Promise<AnyContainer> {
  options.signal?.throwIfAborted();
  const { recipe, name, release } = place(gridhold, source, options);
  let { repair = false } = options; // the first time only
  const opening = async () => {
    const request = json({ ...recipe, repair });
    repair = false;
    return { kind: Kind.containerOpen, request };
  };
  const core = await Core.open(gridhold, name, opening, release, options.signal);
  if (options.key === undefined) return opened(core);
  try {
    const leaf = await core.leaf(options.key.startsWith('/') ? options.key : `/${options.key}`, false, options);
    leaf.keep(core);
    return opened(leaf);
  } catch (error) {
    await core.close();
    throw error;
  }
}

function place(gridhold: Gridhold, source: Source | FileSource, options: ContainerOptions): { recipe: object; name: string; release: () => void } {
  const { mode = 'r', path } = options;
  const file = path === undefined ? fileOf(source) : undefined;
  if (file !== undefined) {
    const fs = gridhold.systems.acquire(file.files);
    return {
      recipe: { fs, name: file.name, write: mode === 'a', ...how(options) },
      name: file.name,
      release: () => gridhold.systems.release(fs),
    };
  }
  if (mode !== 'r' || options.repair) throw new InvalidError('objects of a store are only read');
  const object = objectIn(source as Source, path);
  const { store, release } = gridhold.acquire(object.store);
  return { recipe: { store, name: object.key }, name: object.key, release };
}

/** Makes an array. */
export async function createArray(gridhold: Gridhold, target: FileSource | string | URL, options: ArrayOptions): Promise<NDArray> {
  const { shape, chunks, blocks } = options;
  for (const [what, numbers] of Object.entries({ shape, chunks, blocks })) integers(what, numbers ?? []);
  return new NDArray(await create(gridhold, target, { kind: 'ndarray', dtype: numpyCode(options.dtype), shape, chunks, blocks }, options));
}

/** Makes a sequence. */
export async function createSChunk(gridhold: Gridhold, target: FileSource | string | URL, options: SChunkOptions): Promise<SChunk> {
  const { typesize = 1, chunksize = options.data?.byteLength ?? 0 } = options;
  return new SChunk(await create(gridhold, target, { kind: 'schunk', typesize, chunksize }, options));
}

/** Makes a store. */
export async function createStore(gridhold: Gridhold, target: FileSource | string | URL, options: StoreOptions): Promise<EmbedStore | DictStore | TreeStore> {
  const { kind, threshold = 0 } = options;
  return opened(await create(gridhold, target, { kind, threshold }, options)) as EmbedStore | DictStore | TreeStore;
}

async function create(gridhold: Gridhold, where: FileSource | string | URL, spec: object, options: CreateOptions & CallOptions & { data?: Items }): Promise<Core> {
  options.signal?.throwIfAborted();
  const target = fileOf(where);
  if (target === undefined) throw new InvalidError('containers are made in files');
  const { mode = 'x', contiguous = true, checksums = false } = options;
  const fs = gridhold.systems.acquire(target.files);
  const recipe = { fs, name: target.name, ...how(options) };
  const text = json({ ...spec, ...packing(options.cparams), ...recipe, ...modes[mode], sparse: !contiguous, checksums });
  const data = options.data === undefined ? new Uint8Array() : bytesOf(options.data);
  const request = new Uint8Array(4 + text.length + data.length);
  new DataView(request.buffer).setUint32(0, text.length, true);
  request.set(text, 4);
  request.set(data, 4 + text.length);
  let made = false;
  return Core.open(
    gridhold,
    target.name,
    async () => {
      if (made) return { kind: Kind.containerOpen, request: json({ ...recipe, write: true }) };
      made = true;
      return { kind: Kind.containerCreate, request };
    },
    () => gridhold.systems.release(fs),
    options.signal,
  );
}
