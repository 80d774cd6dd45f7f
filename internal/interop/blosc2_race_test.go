//go:build race

package interop

// raced: the race detector is on, so that the tables are cut down. Pools
// forget under it, and a writer of zstd is megabytes to make.
const raced = true
