// Package blosc2 reads and writes Blosc2 containers, byte-compatible with python-blosc2:
// frames in a file or a directory, as a sequence of items ([SChunk]) or an
// array ([NDArray]), and stores of frames under keys ([EmbedStore],
// [DictStore], [TreeStore]), in a frame, a directory or a zip.
//
//	header   sizes, codec, filters; metalayers: small named values
//	chunks   one after the other, dead bytes between them; or a file each
//	index    a chunk of int64: where each chunk begins, or what it consists of
//	trailer  variable-length metalayers, and its own length at the end
//
// [Open] tells them apart by their bytes; [OpenObject] and [OpenBytes] open
// those of a server and in memory. The format has no checksum: a bit that flips
// may go unseen, unless the frame keeps some of ours (Spec.Checksums).
//
// Other processes may write to a container that is open. What was read of it
// belongs to one state; see [SChunk] and its Refresh.
//
// Format: https://github.com/Blosc/c-blosc2/blob/main/README_CFRAME_FORMAT.rst
package blosc2
