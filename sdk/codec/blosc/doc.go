// Package blosc decodes Blosc 1 chunks.
//
//	header  16 bytes: what was packed, and how
//	starts  for each block, where in the chunk it begins (int32)
//	blocks  in any order; of one or more streams, each a size (int32) and bytes
//
// A block is the streams one after the other, then shuffled back. A stream
// whose size is that of its part of the block is stored, any other is packed
// with the chunk's compressor. A chunk that did not get smaller is stored as
// a whole after its header, without starts.
//
// Format: https://github.com/Blosc/c-blosc/blob/main/README_CHUNK_FORMAT.rst
package blosc
