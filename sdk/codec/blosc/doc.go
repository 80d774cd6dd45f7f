// Package blosc reads and writes the chunks of Blosc 1 and 2.
//
//	header      16 bytes: what was packed, and how; Blosc 2: 16 more, with the filters
//	starts      for each block, where in the chunk it begins (int32)
//	dictionary  rarely: a size (int32) and bytes, shared by all streams
//	blocks      in any order; of one or more streams, each a size (int32) and bytes
//
// A block is the streams one after the other, then sent back through the
// filters. A stream whose size is that of its part of the block is stored; in
// Blosc 2 a size of 0 is a run of zeros, and a negative one a run of the byte
// that it is. Any other is packed with the chunk's codec. A chunk that did not
// get smaller is stored as a whole after its header, without starts. One
// whose elements are all alike is special: a header, and the element if it is
// neither zero nor NaN.
//
// [Open] gives a [Chunk], which decodes blocks on their own; [OpenAt] does so
// over a reader, and reads only those blocks. The format has no checksum: what is
// damaged without breaking a rule of it is decoded as it is.
//
// Format: https://github.com/Blosc/c-blosc2/blob/main/README_CHUNK_FORMAT.rst
// and, of Blosc 1, https://github.com/Blosc/c-blosc/blob/main/README_CHUNK_FORMAT.rst
package blosc
