import { Kind } from './abi.js';
import { parts, places, type Location } from './batch.js';
import { ShardCache, type CacheOptions } from './cache.js';
import { costOf, type Cost } from './cost.js';
import type { DirectReads } from './direct.js';
import { dataType, type DataType, type DataTypeJson } from './dtype.js';
import { InvalidError, OutOfRangeError, WrongArrayError } from './errors.js';
import type { Gridhold } from './gridhold.js';
import type { Handle } from './handle.js';
import { integers, packed } from './request.js';
import { joined, slabsOf } from './slabs.js';
import { ndArray, type NdArray } from './values.js';

/** What an array says of itself. Codecs and fill value are as in its metadata; numbers there beyond 2^53 are not exact, `fill_hex` is. */
export interface ArrayInfo {
  kind: 'array';
  path: string;
  zarr_format: number;
  shape: number[];
  chunk_shape: number[] | null;
  /** Where chunks differ in shape: along each axis `[length, count]` of neighbours that are alike. */
  chunk_edges?: [length: number, count: number][][];
  chunk_grid_shape: number[];
  data_type: string;
  data_type_json: DataTypeJson;
  item_size: number;
  fill_value: unknown;
  fill_hex: string;
  order_transposed: boolean;
  is_sharded: boolean;
  exclusively_sharded: boolean;
  subchunk_shape: number[] | null;
  effective_subchunk_shape: number[] | null;
  subchunk_grid_shape: number[];
  chunks_per_shard?: number[] | null;
  index_location?: string | null;
  index_size?: number | null;
  codecs: unknown[];
  subchunk_codecs: unknown[];
  host_readable: boolean;
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
  /** The data type of the elements, with lengths, units and fields. */
  readonly type: DataType;

  #direct: DirectReads | undefined;
  /** By which the cost is asked; it keeps no index. */
  #counter: ShardCache | undefined;

  /** @internal */
  constructor(gridhold: Gridhold, handle: Handle, info: ArrayInfo, traced: boolean, direct?: DirectReads) {
    this.#gridhold = gridhold;
    this.#direct = direct;
    this.#handle = handle;
    this.info = info;
    this.type = dataType(info.data_type_json);
    handle.ownedBy(this);
    if (traced) this.#counter = this.shardCache({ budget: 1 });
  }

  get path(): string {
    return this.info.path;
  }

  get shape(): number[] {
    return this.info.shape;
  }

  /** Of a shard, where the array is sharded; `undefined` where chunks differ. */
  get chunkShape(): number[] | undefined {
    return this.info.chunk_shape ?? undefined;
  }

  /** The shape of one chunk, named by its place in the chunk grid. Throws OutOfRangeError. */
  chunkShapeAt(chunk: readonly number[]): number[] {
    const { chunk_grid_shape: grid, chunk_shape: shape, chunk_edges: edges } = this.info;
    if (chunk.length !== grid.length || !chunk.every((at, axis) => at >= 0 && at < grid[axis]!)) {
      throw new OutOfRangeError(`chunk [${chunk}] is outside the grid [${grid}]`, { item: this.path });
    }
    return shape === null ? chunk.map((at, axis) => lengthAt(edges![axis]!, at)) : [...shape];
  }

  /** How many chunks there are along each axis. */
  get chunkGridShape(): number[] {
    return this.info.chunk_grid_shape;
  }

  /** As in the metadata; `undefined` where the array is not sharded. */
  get subchunkShape(): number[] | undefined {
    return this.info.subchunk_shape ?? undefined;
  }

  /**
   * Of what `retrieveSubchunk` gives, in the array's order of axes. Where the
   * array is not sharded it is the chunk's: `undefined` where chunks differ.
   */
  get effectiveSubchunkShape(): number[] | undefined {
    return this.info.effective_subchunk_shape ?? undefined;
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
    return this.type.name;
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
    integers('index', index);
    const bytes = (await this.#past(index, options)) ?? (await this.#read(Kind.readSubchunk, index, index.length, index, options));
    return this.#subchunk(index, bytes);
  }

  /**
   * Several subchunks, in the order asked for: what lies in one shard is read
   * together. Errors as of `retrieveSubchunk`; the first one ends them all.
   */
  async retrieveSubchunks(indices: readonly (readonly number[])[], options: ReadOptions = {}): Promise<NdArray[]> {
    const all = await this.#readAll(Kind.readSubchunks, indices, options, parts);
    return all.map((part, i) => this.#subchunk(indices[i]!, part));
  }

  /**
   * Where subchunks are stored, `undefined` for one that is not. Of an array
   * that is not sharded it tells where a chunk would be. Errors as of
   * `retrieveEncodedSubchunk`.
   */
  async locateSubchunks(indices: readonly (readonly number[])[], options: ReadOptions = {}): Promise<(Location | undefined)[]> {
    return this.#readAll(Kind.locateSubchunks, indices, options, places);
  }

  /** One subchunk as it is stored; `undefined` where there is none. Errors as of `retrieveSubchunk`. */
  async retrieveEncodedSubchunk(index: readonly number[], options: ReadOptions = {}): Promise<Uint8Array | undefined> {
    const bytes = await this.#read(Kind.readEncoded, index, index.length, integers('index', index), options);
    return bytes.length === 0 ? undefined : bytes; // a stored subchunk of no bytes is an error
  }

  /** The elements from `start` up to and not including `stop`. Errors as of `retrieveSubchunk`. */
  async retrieveRegion(start: readonly number[], stop: readonly number[], options: ReadOptions = {}): Promise<NdArray> {
    if (start.length !== stop.length) throw new InvalidError('start and stop differ in length', { item: 'stop' });
    const shape = stop.map((end, i) => end - start[i]!);
    integers('start', start);
    integers('stop', stop);
    const slabs = this.#gridhold.readers === 1 ? [[start, stop] as const] : slabsOf(start, stop, this.chunkShape, this.#gridhold.readers);
    const read = await Promise.all(slabs.map(([from, to]) => this.#region(from, to, options)));
    return ndArray(read.length === 1 ? read[0]! : joined(read), shape, this.type);
  }

  /**
   * What reads of the array cost so far, its opening included. Rejects with
   * InvalidError where it was opened without `trace`. If the instance dies,
   * the counts begin anew.
   */
  async cost(): Promise<Cost> {
    if (this.#counter === undefined) throw new InvalidError('opened without trace', { item: this.path });
    return costOf((await this.#counter.told()).cost!);
  }

  /** Closes the array and its caches. Later calls reject with ClosedError. Twice is fine. */
  close(): void {
    this.#handle.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #subchunk(index: readonly number[], bytes: Uint8Array<ArrayBuffer>): NdArray {
    return ndArray(bytes, [...(this.effectiveSubchunkShape ?? this.chunkShapeAt(index))], this.type);
  }

  /** A subchunk read past the guest, where that can be; see direct.ts. */
  async #past(index: readonly number[], { shardCache, signal, reload }: ReadOptions): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const can = this.#direct !== undefined && shardCache?.gridhold === this.#gridhold && !reload && !this.#handle.closed && !shardCache.handle.closed;
    if (!can) return undefined;
    signal?.throwIfAborted();
    const bytes = await this.#direct!.read(index, shardCache, await this.#gridhold.guest(), signal);
    await this.#gridhold.guest(); // ClosedError, where it was closed meanwhile
    return bytes;
  }

  #region(start: readonly number[], stop: readonly number[], options: ReadOptions): Promise<Uint8Array<ArrayBuffer>> {
    const sub = this.effectiveSubchunkShape;
    const first = sub && start.map((at, axis) => Math.floor(at / sub[axis]!));
    return this.#read(Kind.readRegion, first, start.length, [...start, ...stop], options);
  }

  /** Asks about many subchunks, those of one instance together, and takes the answers apart. */
  async #readAll<T>(
    kind: Kind,
    indices: readonly (readonly number[])[],
    options: ReadOptions,
    apart: (answer: Uint8Array<ArrayBuffer>, count: number) => T[],
  ): Promise<T[]> {
    const axes = this.shape.length;
    for (const index of indices) {
      if (index.length !== axes) throw new InvalidError(`index [${index}] has not ${axes} numbers`, { item: 'indices' });
    }
    integers('indices', indices.flat());
    const groups = new Map<unknown, number[]>();
    for (const [i, index] of indices.entries()) {
      const at = this.#gridhold.readers === 1 ? 0 : await this.#gridhold.reader(this.#shardOf(index));
      groups.set(at, [...(groups.get(at) ?? []), i]);
    }
    if (groups.size === 0) groups.set(0, []);
    const out: T[] = [];
    await Promise.all([...groups.values()].map(async (members) => {
      const some = members.map((i) => indices[i]!);
      const answer = await this.#read(kind, some[0], axes, some.flat(), options, [some.length]);
      apart(answer, some.length).forEach((part, k) => (out[members[k]!] = part));
    }));
    return out;
  }

  /** The shard that a subchunk lies in; `undefined` where there is no index to share. */
  #shardOf(index: readonly number[]): number[] | undefined {
    const [chunk, sub] = [this.chunkShape, this.effectiveSubchunkShape];
    if (!this.isSharded || chunk === undefined || sub === undefined) return undefined;
    return index.map((at, axis) => Math.floor((at * sub[axis]!) / chunk[axis]!));
  }

  /** `subchunk` is one of those that are read: it says on which instance. */
  async #read(
    kind: Kind,
    subchunk: readonly number[] | undefined,
    ndim: number,
    longs: readonly number[],
    options: ReadOptions,
    more: readonly number[] = [],
  ): Promise<Uint8Array<ArrayBuffer>> {
    const { shardCache, signal, reload } = options;
    if (shardCache !== undefined && shardCache.gridhold !== this.#gridhold) {
      throw new WrongArrayError('the shard cache belongs to an array of another Gridhold', { item: this.path });
    }
    signal?.throwIfAborted();
    const guest = await this.#gridhold.reader(subchunk && this.#shardOf(subchunk));
    const array = await this.#handle.on(guest);
    const cache = shardCache === undefined ? 0 : await shardCache.handle.on(guest);
    const request = packed([array, cache, reload ? RELOAD : 0, ndim, ...more], longs);
    return (await guest.run(kind, request, signal)).bytes;
  }
}

/** The length of chunk `at` along an axis. */
function lengthAt(runs: readonly [length: number, count: number][], at: number): number {
  let rest = at;
  for (const [length, count] of runs) {
    if (rest < count) return length;
    rest -= count;
  }
  return 0; // not in the grid
}
