import { Kind } from './abi.js';
import { ShardCache, type CacheOptions } from './cache.js';
import { InvalidError, WrongArrayError } from './errors.js';
import type { Gridhold } from './gridhold.js';
import type { Handle } from './handle.js';
import { integers, packed } from './request.js';
import { typed, type NdArray } from './values.js';

/** What an array says of itself. Codecs and fill value are as in its metadata; numbers there beyond 2^53 are not exact, `fill_hex` is. */
export interface ArrayInfo {
  kind: 'array';
  path: string;
  zarr_format: number;
  shape: number[];
  chunk_shape: number[];
  chunk_grid_shape: number[];
  data_type: string | { name: string; configuration?: unknown };
  item_size: number;
  fill_value: unknown;
  fill_hex: string;
  order_transposed: boolean;
  is_sharded: boolean;
  exclusively_sharded: boolean;
  subchunk_shape: number[] | null;
  effective_subchunk_shape: number[];
  subchunk_grid_shape: number[];
  chunks_per_shard?: number[] | null;
  index_location?: string | null;
  index_size?: number | null;
  codecs: unknown[];
  subchunk_codecs: unknown[];
  chunk_key_encoding: { name: string; separator: string };
  attributes?: Record<string, unknown> | null;
  dimension_names?: (string | null)[] | null;
}

/** How to read. */
export interface ReadOptions {
  /** Where shard indexes are kept. Without one each read loads the index it needs and drops it. */
  shardCache?: ShardCache | undefined;
  /** An abort rejects with the signal's reason; other reads that share a load go on. */
  signal?: AbortSignal | undefined;
  /** Load the shard's index anew. */
  reload?: boolean;
}

const RELOAD = 2;

/** An array, opened by `Gridhold.openArray`. Calls may overlap as they like. */
export class GridArray {
  #gridhold: Gridhold;
  #handle: Handle;
  /** The description, as `gridhold info --json` prints it. */
  readonly info: ArrayInfo;

  /** @internal */
  constructor(gridhold: Gridhold, handle: Handle, info: ArrayInfo) {
    this.#gridhold = gridhold;
    this.#handle = handle;
    this.info = info;
    handle.ownedBy(this);
  }

  get path(): string {
    return this.info.path;
  }

  get shape(): number[] {
    return this.info.shape;
  }

  /** Of a shard, where the array is sharded. */
  get chunkShape(): number[] {
    return this.info.chunk_shape;
  }

  /** How many chunks there are along each axis. */
  get chunkGridShape(): number[] {
    return this.info.chunk_grid_shape;
  }

  /** As in the metadata; `undefined` where the array is not sharded. */
  get subchunkShape(): number[] | undefined {
    return this.info.subchunk_shape ?? undefined;
  }

  /** Of what `retrieveSubchunk` gives, in the array's order of axes; the chunk's where the array is not sharded. */
  get effectiveSubchunkShape(): number[] {
    return this.info.effective_subchunk_shape;
  }

  /** The grid that indices of subchunks lie in. */
  get subchunkGridShape(): number[] {
    return this.info.subchunk_grid_shape;
  }

  get isSharded(): boolean {
    return this.info.is_sharded;
  }

  /** The name of the data type, `"uint16"`. */
  get dtype(): string {
    const { data_type: type } = this.info;
    return typeof type === 'string' ? type : type.name;
  }

  get attributes(): Record<string, unknown> {
    return this.info.attributes ?? {};
  }

  /** Makes a cache of this array's shard indexes. */
  shardCache(options: CacheOptions = {}): ShardCache {
    return new ShardCache(this.#gridhold, this.#handle, options);
  }

  /**
   * One subchunk, decoded, at its full shape also at the array's edge; what
   * is not stored is the fill value. Rejects with OutOfRangeError outside the
   * grid, CorruptError, StaleError, WrongArrayError, LimitError, IOError.
   */
  async retrieveSubchunk(index: readonly number[], options: ReadOptions = {}): Promise<NdArray> {
    const shape = this.effectiveSubchunkShape;
    const bytes = await this.#read(Kind.readSubchunk, index.length, integers('index', index), options);
    return { data: typed(bytes, this.dtype), shape: [...shape], dtype: this.dtype };
  }

  /** One subchunk as it is stored; `undefined` where there is none. Errors as of `retrieveSubchunk`. */
  async retrieveEncodedSubchunk(index: readonly number[], options: ReadOptions = {}): Promise<Uint8Array | undefined> {
    const bytes = await this.#read(Kind.readEncoded, index.length, integers('index', index), options);
    return bytes.length === 0 ? undefined : bytes; // a stored subchunk of no bytes is an error
  }

  /** The elements from `start` up to and not including `stop`. Errors as of `retrieveSubchunk`. */
  async retrieveRegion(start: readonly number[], stop: readonly number[], options: ReadOptions = {}): Promise<NdArray> {
    if (start.length !== stop.length) throw new InvalidError('start and stop differ in length', { item: 'stop' });
    const shape = stop.map((end, i) => end - start[i]!);
    const bounds = [...integers('start', start), ...integers('stop', stop)];
    const bytes = await this.#read(Kind.readRegion, start.length, bounds, options);
    return { data: typed(bytes, this.dtype), shape, dtype: this.dtype };
  }

  /** Closes the array and its caches. Later calls reject with ClosedError. Twice is fine. */
  close(): void {
    this.#handle.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #read(
    kind: Kind,
    ndim: number,
    longs: bigint[],
    options: ReadOptions,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const { shardCache, signal, reload } = options;
    if (shardCache !== undefined && shardCache.gridhold !== this.#gridhold) {
      throw new WrongArrayError('the shard cache belongs to an array of another Gridhold', { item: this.path });
    }
    signal?.throwIfAborted();
    const guest = await this.#gridhold.guest();
    const array = await this.#handle.on(guest);
    const cache = shardCache === undefined ? 0 : await shardCache.handle.on(guest);
    const request = packed([array, cache, reload ? RELOAD : 0, ndim], longs);
    return (await guest.run(kind, request, signal)).bytes;
  }
}
