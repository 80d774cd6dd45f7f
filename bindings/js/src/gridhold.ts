// The door: loads the guest, keeps one living instance of it, opens things.

import { Kind } from './abi.js';
import { GridArray, type ArrayInfo } from './array.js';
import type { Codecs } from './codecs.js';
import { fileOf, type FileSource } from './container.js';
import {
  createArray,
  createSChunk,
  createStore,
  openContainer,
  type ArrayOptions,
  type ContainerOptions,
  type SChunkOptions,
  type StoreOptions,
} from './creating.js';
import { DirectReads } from './direct.js';
import { ClosedError, InvalidError, LimitError, StaleError } from './errors.js';
import { SystemTable } from './files.js';
import type { NDArray, SChunk } from './frame.js';
import { GridGroup, type GroupInfo } from './group.js';
import { Guest } from './guest.js';
import { Handle, abortable } from './handle.js';
import { openStack, readTable, type ImageStack, type ImageTable, type StackOptions, type TableOptions } from './images.js';
import { createScratch, type HostScratchOptions, type ImageFiles, type ImageLocation, type ImageScratch, type ScratchOptions } from './scratch.js';
import type { Outside } from './io.js';
import type { AnyContainer, DictStore, EmbedStore, TreeStore } from './key-store.js';
import { codecModule, type LoadOptions } from './load-options.js';
import { compile } from './loader.js';
import { DEFAULT_MEMORY } from './maximum.js';
import { placeOf, type IndexPack } from './index-pack.js';
import { openMultiscale, type MultiscaleImage, type MultiscaleOptions } from './multiscale.js';
import { Pool } from './pool.js';
import { pathOf, platform } from './platform.js';
import type { Runner } from './runner.js';
import { HttpStore, StoreTable, ZipStore, storeOf, type Source } from './store.js';
import { checkByteOrder } from './values.js';

/** What to open, and for how long to wait. */
export interface OpenOptions {
  /** Of the node within the store, `"a/b"`; default: the root. */
  path?: string;
  /**
   * Trust the metadata that a group keeps of all nodes below it, which can be
   * out of date: to open a node, that of the root; to list a group, its own.
   */
  consolidated?: boolean;
  /**
   * The indexes of the shards, as `gridhold index build` gathers them: reads
   * then need no index from the store. An array that it is not for rejects
   * with WrongArrayError.
   */
  indexPack?: IndexPack | undefined;
  /** Add up what reads of an array cost; see `GridArray.cost`. */
  trace?: boolean;
  /** An abort rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** One node of a group. */
export interface Entry {
  path: string;
  /** `unknown`: it cannot be opened, and `error` says why. */
  kind: 'array' | 'group' | 'unknown';
  shape?: number[];
  data_type?: string;
  error?: string;
}

/** One thing that is damaged. */
export interface Damage {
  item: string;
  /** Byte offset in the item, or -1. */
  off: number;
  text: string;
  /** It may be whole, but takes a codec that is not there. */
  unchecked?: boolean;
}

export class Gridhold {
  #module: WebAssembly.Module;
  #memory: number;
  #outside: Outside;
  #guest: Guest | undefined;
  #starting: Promise<Guest> | undefined;
  #pool: Pool | undefined;
  #closed = false;

  private constructor(module: WebAssembly.Module, memory: number, outside: Outside) {
    this.#module = module;
    this.#memory = memory;
    this.#outside = outside;
  }

  /** Loads the guest and starts an instance. Rejects with IOError, CorruptError, LimitError, UnsupportedError. */
  static async load(options: LoadOptions = {}): Promise<Gridhold> {
    checkByteOrder();
    const memory = options.memory ?? DEFAULT_MEMORY;
    if (!Number.isSafeInteger(memory) || memory <= 0) throw new InvalidError(`memory: ${memory} is not a number of bytes`);
    const { pool = 0, strict = false } = options;
    if (!Number.isSafeInteger(pool) || pool < 0 || pool > 64) throw new InvalidError(`pool: ${pool} is not from 0 to 64`, { item: 'pool' });
    const lent = strict ? undefined : codecModule(options.codecs);
    if (pool > 0 && !strict && options.codecs !== undefined && lent === undefined) {
      throw new InvalidError('codecs: workers take those of a module, named by its URL', { item: 'codecs' });
    }
    const module = await compile(options.wasm, memory);
    const gridhold = new Gridhold(module, memory, {
      stores: new StoreTable(),
      systems: new SystemTable(),
      // Called as a plain function: the platform's fetch refuses any other `this`.
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      codecs: strict ? {} : lent === undefined ? ((options.codecs ?? {}) as Codecs) : ((await import(lent)) as Codecs),
      strict,
      log: options.log ?? (() => {}),
    });
    await gridhold.guest();
    if (pool > 0) {
      const start = { module, memory, codecs: lent, fetches: options.fetch !== undefined };
      try {
        gridhold.#pool = await Pool.start(pool, start, gridhold.#outside);
      } catch (error) {
        gridhold.close();
        throw error;
      }
    }
    return gridhold;
  }

  /** Compiles a guest, to be sent to workers and given to `load` there. */
  static compile(options: Pick<LoadOptions, 'wasm' | 'memory'> = {}): Promise<WebAssembly.Module> {
    return compile(options.wasm, options.memory ?? DEFAULT_MEMORY);
  }

  /** Size of the memory of all instances now, in bytes. */
  get memorySize(): number {
    return (this.#guest?.memorySize ?? 0) + (this.#pool?.memorySize ?? 0);
  }

  /** @internal How many instances read arrays. */
  get readers(): number {
    return this.#pool?.size ?? 1;
  }

  /** @internal The instance that reads a shard; without one, any. */
  reader(shard: readonly number[] | undefined): Promise<Runner> | Runner {
    return this.#pool === undefined ? this.guest() : this.#pool.runner(shard);
  }

  /** Opens an array. Rejects with NotFoundError, CorruptError, UnsupportedError, InvalidError where it is a group. */
  openArray(source: Source, options: OpenOptions = {}): Promise<GridArray> {
    return this.#open(source, 'array', options) as Promise<GridArray>;
  }

  /** Opens a group. Errors as of `openArray`. */
  openGroup(source: Source, options: OpenOptions = {}): Promise<GridGroup> {
    return this.#open(source, 'group', options) as Promise<GridGroup>;
  }

  /** Opens whatever is there. Errors as of `openArray`. */
  open(source: Source, options: OpenOptions = {}): Promise<GridArray | GridGroup> {
    return this.#open(source, 'any', options);
  }

  /**
   * Opens the levels of an OME-Zarr pyramid (0.4 and 0.5). Errors as of `openGroup`; rejects with InvalidError where the
   * group has none.
   */
  openMultiscale(source: Source, options: MultiscaleOptions = {}): Promise<MultiscaleImage> {
    return openMultiscale(this, source, options);
  }

  /** All nodes below a group. Needs a store that can list, or consolidated metadata. */
  list(source: Source, options: OpenOptions = {}): Promise<Entry[]> {
    return this.#ask(Kind.list, source, options) as Promise<Entry[]>;
  }

  /** Reads every index, checksum and chunk of what is there, and says what is damaged. */
  verify(source: Source, options: OpenOptions = {}): Promise<{ checked: number; damaged: Damage[] }> {
    return this.#ask(Kind.verify, source, options) as Promise<{ checked: number; damaged: Damage[] }>;
  }

  /**
   * Opens a Blosc2 container: by its URL; as an object of a store, whose name `path` is; a `File` that a user chose; or in
   * Node by its path (`containerFile` of the subpath says more). Rejects with NotFoundError, CorruptError, UnsupportedError, LimitError.
   */
  async openContainer(source: Source | FileSource, options: ContainerOptions = {}): Promise<AnyContainer> {
    return openContainer(this, source, options);
  }

  /** Makes an array in a file and opens it for writing. Rejects with ExistsError. */
  async createArray(target: FileSource | string | URL, options: ArrayOptions): Promise<NDArray> {
    return createArray(this, target, options);
  }

  /** Makes a sequence in a file and opens it for writing. Rejects with ExistsError. */
  async createSChunk(target: FileSource | string | URL, options: SChunkOptions = {}): Promise<SChunk> {
    return createSChunk(this, target, options);
  }

  /** Makes a store of frames and opens it for writing. Rejects with ExistsError. */
  async createStore(target: FileSource | string | URL, options: StoreOptions): Promise<EmbedStore | DictStore | TreeStore> {
    return createStore(this, target, options);
  }

  /**
   * Opens an MRC file: by its URL; as an object of a store, whose name `path` is; a `File` that a user chose; or in Node by
   * its path. Rejects with NotFoundError, CorruptError, UnsupportedError.
   */
  async openStack(source: Source | FileSource, options: StackOptions = {}): Promise<ImageStack> {
    return openStack(this, source, options);
  }

  /** Reads a table of images: STAR, cryoSPARC's .cs, or a list. Sources as of `openStack`. Rejects with CorruptError, InvalidError. */
  async readTable(source: Source | FileSource, options: TableOptions = {}): Promise<ImageTable> {
    return readTable(this, source, options);
  }

  /**
   * Makes a scratch: images of `files` are read once, in runs of `runLength`, as far as `maxSize` bytes go. It is in the
   * instance's memory, of which it may take half, or in a file of `originPrivate`, where it is found again. Rejects with
   * InvalidError where there is nothing to hold.
   */
  async createHostImageScratch(
    locations: readonly ImageLocation[],
    runLength: number,
    maxSize: number | undefined,
    files: ImageFiles,
    { file, signal }: HostScratchOptions = {},
  ): Promise<ImageScratch> {
    return createScratch(this, file, locations, runLength, files, { maxSize, signal, readOnly: false });
  }

  /**
   * Opens a scratch file that other programs make and fill, for reading. What is not there yet is read from `files`.
   * Rejects with NotFoundError where there is no scratch of these locations and run length.
   */
  async openImageScratch(
    source: FileSource | string | URL,
    locations: readonly ImageLocation[],
    runLength: number,
    files: ImageFiles,
    options: ScratchOptions = {},
  ): Promise<ImageScratch> {
    const file = fileOf(source);
    if (file === undefined) throw new InvalidError('a scratch is a file');
    return createScratch(this, file, locations, runLength, files, { ...options, readOnly: true });
  }

  /** @internal The file systems that are lent. */
  get systems(): SystemTable {
    return this.#outside.systems;
  }

  /** Ends the instance. What runs is rejected with ClosedError, and so is every later call. Twice is fine. */
  close(): void {
    this.#closed = true;
    this.#guest?.close();
    this.#guest = undefined;
    this.#pool?.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** @internal The living instance; a fresh one where the last has died or panicked. */
  guest(): Promise<Guest> | Guest {
    if (this.#closed) throw new ClosedError('gridhold: closed');
    if (this.#guest?.usable) return this.#guest;
    this.#starting ??= Guest.start(this.#module, this.#memory, this.#outside).then(
      (guest) => {
        this.#starting = undefined;
        this.#guest = guest;
        if (this.#closed) guest.close();
        return guest;
      },
      (error: unknown) => {
        this.#starting = undefined;
        throw error;
      },
    );
    return this.#starting;
  }

  async #open(source: Source, node: 'array' | 'group' | 'any', options: OpenOptions): Promise<GridArray | GridGroup> {
    options.signal?.throwIfAborted();
    const { path = '', consolidated = false, trace = false, indexPack } = options;
    const packed = indexPack === undefined ? undefined : placeOf(indexPack);
    const { store, release: releaseStore } = this.acquire(source);
    const pack = packed === undefined ? undefined : this.acquire(packed.store);
    const release = () => {
      releaseStore();
      pack?.release();
    };
    const index_pack = pack === undefined ? undefined : { store: pack.store, key: packed!.key };
    const request = json({ store, path, node, consolidated, trace, index_pack });
    let first: string | undefined;
    const handle = new Handle(
      path || '/',
      async (guest) => {
        const reply = await guest.run(Kind.open, request);
        const text = new TextDecoder().decode(reply.bytes);
        first ??= text;
        if (text !== first) throw new StaleError(`${path || '/'}: the metadata has changed since it was opened`, { item: path });
        return reply.object;
      },
      release,
    );
    try {
      await abortable(handle.on(await this.guest()), options.signal);
      const info = JSON.parse(first!) as ArrayInfo | GroupInfo;
      if (info.kind === 'group') return new GridGroup(this, source, handle, info, { consolidated, trace, indexPack });
      checkShapes(info);
      return new GridArray(this, handle, info, trace, trace ? undefined : this.#direct(source, handle, info));
    } catch (error) {
      handle.close();
      throw error;
    }
  }

  /** How subchunks of an array are read past the guest: not where that is asked to do all, nor where workers read. */
  #direct(source: Source, handle: Handle, info: ArrayInfo): DirectReads | undefined {
    const { fetch, codecs, strict } = this.#outside;
    if (strict || this.#pool !== undefined || pathOf(source) !== undefined) return undefined;
    const store = storeOf(source);
    return store instanceof HttpStore ? DirectReads.of(info, handle, store, fetch, codecs) : undefined;
  }

  async #ask(kind: typeof Kind.list | typeof Kind.verify, source: Source, options: OpenOptions): Promise<unknown> {
    const { store, release } = this.acquire(source);
    try {
      const guest = await this.guest();
      const { path = '', consolidated = false } = options;
      const reply = await guest.run(kind, json({ store, path, consolidated }), options.signal);
      return JSON.parse(new TextDecoder().decode(reply.bytes)) as unknown;
    } finally {
      release();
    }
  }

  /** @internal A source as the guest is told of it, kept in the table until it is released. */
  acquire(source: Source): { store: object; release: () => void } {
    const path = pathOf(source);
    if (path !== undefined) return this.#directory(path);
    const store = storeOf(source);
    if (store instanceof ZipStore) {
      const inner = this.acquire(store.store);
      return { store: { ...inner.store, zip: store.key }, release: inner.release };
    }
    if (store instanceof HttpStore) {
      const { forbiddenIsMissing = false, noSuffix = false, gap, maxMerged: max_merged, parallel } = store.options;
      return {
        store: { kind: 'http', url: store.url, forbidden_is_missing: forbiddenIsMissing, no_suffix: noSuffix, gap, max_merged, parallel },
        release: () => {},
      };
    }
    const { stores } = this.#outside;
    const id = stores.acquire(store);
    return { store: { kind: 'host', id }, release: () => stores.release(id) };
  }

  /** A directory by its path; a file is an archive. */
  #directory(path: string): { store: object; release: () => void } {
    const { stores } = this.#outside;
    const archive = /\.(zip|ozx)$/i.test(path) ? /^(.*?)([^/\\]+)$/.exec(path) : null;
    const store = platform.directory!(archive === null ? path : archive[1] || '.');
    const id = stores.acquire(store);
    const release = () => {
      stores.release(id);
      store.close();
    };
    return { store: { kind: 'host', id, ...(archive === null ? {} : { zip: archive[2] }) }, release };
  }
}

function json(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** JSON numbers are exact up to 2^53; an array that reaches further is refused. */
function checkShapes(info: ArrayInfo): void {
  for (const shape of [info.shape, info.chunk_shape, info.chunk_grid_shape, info.subchunk_grid_shape]) {
    if (!(shape ?? []).every(Number.isSafeInteger)) throw new LimitError(`${info.path || '/'}: a shape beyond 2^53`, { item: 'shape' });
  }
}
