// Package s3 gives buckets of S3, and of servers that speak it, as a
// storage.Store that also lists and writes.
//
//	st, err := s3.Open(ctx, "s3://bucket/path/to/array.zarr", s3.Options{})
//	array, err := zarr.OpenArray(ctx, st, "", zarr.Options{})
//
// Reads go through storage.HTTP, so that ranges, retries, versions and
// coalescing are those of any web server; what is added here is the signature.
// Lists and writes are minio-go's. Where the endpoint, the region and the
// credentials come from is said at Options.
package s3
