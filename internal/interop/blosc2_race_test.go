//go:build race

package interop

// raced: pools forget under the race detector, and a writer of zstd is
// megabytes to make.
const raced = true
