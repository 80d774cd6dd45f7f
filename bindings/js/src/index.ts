/** Single subchunks of sharded Zarr arrays, Blosc2 containers, and stacks of images, in browsers and Node. */
export { GridArray, type ArrayInfo, type ReadOptions } from './array.js';
export type { Location } from './batch.js';
export type { Cost } from './cost.js';
export { ShardCache, type CacheOptions, type CacheStats } from './cache.js';
export { gzipStream, platformCodecs, zlibStream, type CodecClass, type Codecs, type DecodeFunction, type LentCodec } from './codecs.js';
export { Container, VLMeta, type CallOptions, type ContainerDamage, type ContainerState, type FileSource } from './container.js';
export type { ArrayOptions, ContainerOptions, SChunkOptions, StoreOptions } from './creating.js';
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
export type { EpochOptions } from './epochs.js';
export { floats } from './floats.js';
export type { FileLock, FileStat, FileSystem, Now, OpenFile } from './files.js';
export { Frame, NDArray, SChunk, type Items, type Span } from './frame.js';
export { Gridhold, type Damage, type Entry, type OpenOptions } from './gridhold.js';
export type { LoadOptions } from './load-options.js';
export type { IndexPack } from './index-pack.js';
export { GridGroup, type GroupInfo, type Multiscale } from './group.js';
export { ImageStack, type ImageTable, type StackInfo, type StackOptions, type TableOptions, type TableRow } from './images.js';
export { DictStore, EmbedStore, KeyStore, TreeStore, type AnyContainer } from './key-store.js';
export { MultiscaleImage, type MultiscaleOptions } from './multiscale.js';
export type { WasmSource } from './loader.js';
export { DEFAULT_MEMORY } from './maximum.js';
export { Extension } from './msgpack.js';
export { ImageScratch, parseLocation, type HostScratchOptions, type ImageFiles, type ImageLocation, type ScratchOptions, type ScratchStats } from './scratch.js';
export { originPrivate } from './opfs.js';
export { blobStore } from './blob-store.js';
export {
  HttpStore,
  ZipStore,
  httpStore,
  zipStore,
  type ByteRange,
  type HttpOptions,
  type ReadAnswer,
  type Source,
  type Store,
} from './store.js';
export type { CParams, CopyOptions, CreateOptions, WriteOptions } from './writing.js';
export { field, type NdArray, type TypedArray } from './values.js';
