/** Single subchunks of sharded Zarr arrays, Blosc2 containers, and stacks of images, in browsers and Node. */
export { GridArray } from './array.js';
export { ShardCache } from './cache.js';
export { gzipStream } from './codecs.js';
export { Container, VLMeta } from './container.js';
export { CancelledError, ClosedError, CorruptError, ExistsError, GridholdError, IOError, InternalError, InvalidError, LimitError, LockTimeoutError, LockedError, NoSpaceError, NotAllowedError, NotFoundError, OutOfRangeError, ReadOnlyError, StaleError, UnsupportedError, WrongArrayError, } from './errors.js';
export { floats } from './floats.js';
export { Frame, NDArray, SChunk } from './frame.js';
export { Gridhold } from './gridhold.js';
export { GridGroup } from './group.js';
export { ImageStack } from './images.js';
export { DictStore, EmbedStore, KeyStore, TreeStore } from './key-store.js';
export { DEFAULT_MEMORY } from './maximum.js';
export { Extension } from './msgpack.js';
export { ImageScratch, parseLocation } from './scratch.js';
export { blobStore } from './blob-store.js';
export { HttpStore, ZipStore, httpStore, zipStore, } from './store.js';
export { field } from './values.js';
