// Package zstd compresses to and decompresses Zstandard (RFC 8878). In reading,
// several frames and skippable frames are accepted, the content size may be
// absent, checksums are verified, and there may be a dictionary. What is
// written is one frame with its size.
//
// The encoder packs Blosc's streams everywhere. The decoder is the guest's
// (build tag gridhold_guest). Elsewhere the library of klauspost is used, which
// has assembly; it brings fmt, log and crypto/rand along, an eighth of the
// guest. Here nothing is done but to go from memory to memory.
//
// The format: https://www.rfc-editor.org/rfc/rfc8878
package zstd
