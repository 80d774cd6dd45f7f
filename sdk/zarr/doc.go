// Package zarr reads Zarr v3 arrays and groups, sharded arrays first.
//
// An array is cut into chunks; a sharded array's chunks are shards, each one
// object that holds many subchunks and an index of where they lie:
//
//	shard:  [subchunk][subchunk] … [index: (offset, length) per subchunk, checksum]
//
// To read one subchunk is to read the index once and then one range:
//
//	arr, err := zarr.OpenArray(ctx, store, "images/level0", zarr.Options{})
//	cache := arr.ShardCache(zarr.CacheOptions{})
//	data, err := arr.RetrieveSubchunk(ctx, []int64{12, 40}, zarr.ReadOptions{Cache: cache})
//
// Decoded bytes are in C order, little endian; a bool is one byte, a complex
// number its real part then its imaginary part. Shapes and indices are
// counted in elements, except those of grids, which count chunks.
//
// Whatever comes from a store is untrusted: sizes are checked before memory
// is taken, a subchunk decodes to exactly the bytes that are due or not at
// all, and an index outside the grid is an error, never fill values.
//
// Specifications: Zarr core v3 (https://zarr-specs.readthedocs.io/en/latest/v3/core/),
// sharding codec (https://zarr-specs.readthedocs.io/en/latest/v3/codecs/sharding-indexed/).
package zarr
