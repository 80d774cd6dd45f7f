// Package deflate compresses to DEFLATE (RFC 1951), from memory to memory and
// with the efforts of zlib's levels, for its sizes.
package deflate
