// Opening and making containers.

import { Kind } from './abi.js';
import { Core, json, type FileSource } from './container.js';
import { InvalidError } from './errors.js';
import { NDArray, SChunk, bytesOf, type Items } from './frame.js';
import type { Gridhold } from './gridhold.js';
import { DictStore, EmbedStore, TreeStore, opened, type AnyContainer } from './key-store.js';
import { numpyCode } from './numpy.js';
import { integers } from './request.js';
import { objectAt, type Source } from './store.js';

/** How a container is written. */
export interface WriteOptions {
  /** When what is written outlasts a power cut: on `close` (default), at every `commit`, `never`. */
  durability?: 'close' | 'commit' | 'never';
  /**
   * Whether each call locks the container against all others who lock it: python-blosc2, and Gridhold in any language.
   * Default: what the environment variable BLOSC_LOCKING says, else not.
   */
  locking?: boolean | 'if_possible';
  /** How long a call waits for the lock, in milliseconds; default: as long as it takes. Rejects with LockTimeoutError then. */
  lockTimeout?: number;
  /** Lock on a network's file system too. */
  lockNetwork?: boolean;
}

/** How a container is opened. */
export interface ContainerOptions extends WriteOptions {
  /** The name of the object, where the source is a store. */
  path?: string;
  /** A key of the container: what lies under it is opened. */
  key?: string;
  /** `r` (default), or `a` to write too, which takes a file. */
  mode?: 'r' | 'a';
}

/** How chunks are packed, by the names of python-blosc2. */
export interface CParams {
  codec?: 'blosclz' | 'lz4' | 'lz4hc' | 'zlib' | 'zstd';
  /** 0 to 9; default 5. */
  clevel?: number;
  /** In the order in which they are applied; default `shuffle`. */
  filters?: ('nofilter' | 'shuffle' | 'bitshuffle' | 'delta' | 'trunc_prec' | 'bytedelta')[];
  filtersMeta?: number[];
}

/** How a frame is made. */
export interface CreateOptions extends WriteOptions {
  /** `x` (default): there must be nothing; `w`: what is there is replaced; `a`: what is there is opened. */
  mode?: 'x' | 'w' | 'a';
  cparams?: CParams;
  /** False: a directory with a file a chunk. */
  contiguous?: boolean;
}

/** How an array is made. */
export interface ArrayOptions extends CreateOptions {
  shape: readonly number[];
  /** As NumPy writes it, or `"int32"`. */
  dtype: string;
  chunks?: readonly number[];
  blocks?: readonly number[];
  /** All items; the array appears with them. Without it holds zeros. */
  data?: Items;
}

/** How a sequence is made. */
export interface SChunkOptions extends CreateOptions {
  /** Bytes of an item; default 1. */
  typesize?: number;
  /** Bytes of a chunk; default: those of the first one. */
  chunksize?: number;
  data?: Items;
}

/** How a store is made. */
export interface StoreOptions extends WriteOptions {
  kind: 'embedstore' | 'dictstore' | 'treestore';
  /** Decoded bytes that make a leaf a file of its own; 0: all are. */
  threshold?: number;
}

const filters = { nofilter: 0, shuffle: 1, bitshuffle: 2, delta: 3, trunc_prec: 4, bytedelta: 35 } as const;

function isFile(source: Source | FileSource): source is FileSource {
  return typeof source === 'object' && 'files' in source;
}

/** Opens a container. */
export async function openContainer(gridhold: Gridhold, source: Source | FileSource, options: ContainerOptions): Promise<AnyContainer> {
  const { recipe, name, release } = place(gridhold, source, options);
  const core = await Core.open(gridhold, name, async () => ({ kind: Kind.containerOpen, request: json(recipe) }), release);
  if (options.key === undefined) return opened(core);
  try {
    const leaf = await core.leaf(options.key.startsWith('/') ? options.key : `/${options.key}`);
    leaf.keep(core);
    return opened(leaf);
  } catch (error) {
    await core.close();
    throw error;
  }
}

function place(gridhold: Gridhold, source: Source | FileSource, options: ContainerOptions): { recipe: object; name: string; release: () => void } {
  const { mode = 'r' } = options;
  if (isFile(source)) {
    const fs = gridhold.systems.acquire(source.files);
    return {
      recipe: { fs, name: source.name, write: mode === 'a', ...how(options) },
      name: source.name,
      release: () => gridhold.systems.release(fs),
    };
  }
  if (mode !== 'r') throw new InvalidError('objects of a store are only read');
  let name = options.path;
  if (typeof source === 'string' && name === undefined) {
    ({ store: source, key: name } = objectAt(source));
  }
  if (!name) throw new InvalidError('a container in a store has a path there');
  const { store, release } = gridhold.acquire(source);
  return { recipe: { store, name }, name, release };
}

/** Makes an array. */
export async function createArray(gridhold: Gridhold, target: FileSource, options: ArrayOptions): Promise<NDArray> {
  const { shape, chunks, blocks } = options;
  for (const [what, numbers] of Object.entries({ shape, chunks, blocks })) integers(what, numbers ?? []);
  return new NDArray(await create(gridhold, target, { kind: 'ndarray', dtype: numpyCode(options.dtype), shape, chunks, blocks }, options));
}

/** Makes a sequence. */
export async function createSChunk(gridhold: Gridhold, target: FileSource, options: SChunkOptions): Promise<SChunk> {
  const { typesize = 1, chunksize = options.data?.byteLength ?? 0 } = options;
  return new SChunk(await create(gridhold, target, { kind: 'schunk', typesize, chunksize }, options));
}

/** Makes a store. */
export async function createStore(gridhold: Gridhold, target: FileSource, options: StoreOptions): Promise<EmbedStore | DictStore | TreeStore> {
  const { kind, threshold = 0 } = options;
  return opened(await create(gridhold, target, { kind, threshold }, options)) as EmbedStore | DictStore | TreeStore;
}

async function create(gridhold: Gridhold, target: FileSource, spec: object, options: CreateOptions & { data?: Items }): Promise<Core> {
  if (!isFile(target)) throw new InvalidError('containers are made in files');
  const { mode = 'x', contiguous = true } = options;
  const fs = gridhold.systems.acquire(target.files);
  const recipe = { fs, name: target.name, ...how(options) };
  const modes = { x: {}, w: { replace: true }, a: { or_open: true } };
  const text = json({ ...spec, ...packing(options.cparams), ...recipe, ...modes[mode], sparse: !contiguous });
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
  );
}

/** The part of a request that says how to write and lock. */
function how({ durability = 'close', locking, lockTimeout = 0, lockNetwork = false }: WriteOptions): object {
  const said = { true: 'always', false: 'never', if_possible: 'if_possible' }[`${locking ?? lockingOf()}`];
  if (said === undefined) throw new InvalidError(`locking: ${locking}: true, false or 'if_possible' is needed`);
  integers('lockTimeout', [lockTimeout]);
  return { durability, locking: said, lock_timeout_ms: lockTimeout, lock_network: lockNetwork };
}

/** What the environment asks for, as python-blosc2 reads it. */
function lockingOf(): boolean | 'if_possible' {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return ['', '0'].includes(process?.env?.BLOSC_LOCKING ?? '') ? false : 'if_possible';
}

/** `cparams` as the core has them. */
function packing(cparams: CParams | undefined): object {
  if (cparams === undefined) return {};
  const { codec = 'zstd', clevel = 5, filters: names = ['shuffle'], filtersMeta = [] } = cparams;
  // One filter goes last, as the peer's do.
  const all = [...Array<'nofilter'>(Math.max(0, 6 - names.length)).fill('nofilter'), ...names];
  const metas = [...Array<number>(Math.max(0, 6 - names.length)).fill(0), ...filtersMeta];
  return { codec, level: clevel, filters: all.map((name, i) => [filters[name], metas[i] ?? 0]) };
}

