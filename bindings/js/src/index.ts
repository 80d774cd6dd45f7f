/** Single subchunks of sharded Zarr arrays, in browsers and Node. */
export { GridArray, type ArrayInfo, type ReadOptions } from './array.js';
export type { Location } from './batch.js';
export { ShardCache, type CacheOptions, type CacheStats } from './cache.js';
export { gzipStream, type CodecClass, type Codecs, type DecodeFunction, type LentCodec } from './codecs.js';
export type { DataType, DataTypeJson, Field } from './dtype.js';
export {
  CancelledError,
  ClosedError,
  CorruptError,
  ExistsError,
  GridholdError,
  IOError,
  InternalError,
  InvalidError,
  LimitError,
  LockTimeoutError,
  LockedError,
  NoSpaceError,
  NotAllowedError,
  NotFoundError,
  OutOfRangeError,
  ReadOnlyError,
  StaleError,
  UnsupportedError,
  WrongArrayError,
  type ErrorDetail,
} from './errors.js';
export type { CodeName } from './abi.js';
export { floats } from './floats.js';
export { Gridhold, type Damage, type Entry, type LoadOptions, type OpenOptions } from './gridhold.js';
export { GridGroup, type GroupInfo, type Multiscale } from './group.js';
export type { WasmSource } from './loader.js';
export { DEFAULT_MEMORY } from './maximum.js';
export { HttpStore, httpStore, type ByteRange, type HttpOptions, type ReadAnswer, type Source, type Store } from './store.js';
export { field, type NdArray, type TypedArray } from './values.js';
