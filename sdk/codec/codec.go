// Package codec holds compressors and checksums: functions of bytes, told
// the size they may produce before they start.
//
// A decoder never trusts a size that it reads from its input: the caller
// knows how much is due, and more is refused before it is allocated.
package codec

import "context"

// Bytes is a codec from bytes to bytes. Implementations may be used by any
// number of goroutines at once.
type Bytes interface {
	// Name is the codec's name in metadata.
	Name() string
	// Decode appends the decoding of src to dst, at most limit bytes of it:
	// ErrLimit if there is more, ErrCorrupt if src is damaged. What it
	// returns may share memory with src (a checksum strips its tail) or dst.
	Decode(ctx context.Context, dst, src []byte, limit int) ([]byte, error)
	// EncodedSize bounds the size of n bytes when encoded; fixed says that
	// every n bytes encode to exactly max.
	EncodedSize(n int64) (max int64, fixed bool)
}

// Encoder is a codec that can also encode.
type Encoder interface {
	// Encode appends the encoding of src to dst; they must not overlap.
	Encode(dst, src []byte) ([]byte, error)
}

// Elements is a codec of a chunk's elements, which may come out as another
// type: Decode takes and gives whole chunks in the byte order that Types
// says. Where the number of elements changes (EncodedSize tells), the encoded
// chunk has one axis.
type Elements interface {
	Bytes
	// Types are the types of an element as NumPy writes them, "<i4" or "|u1":
	// "" from NewV2 for a filter that is not told.
	Types() (decoded, encoded string)
}

// Copies reports whether what b decodes never shares memory with its input:
// only then may the input's buffer be used again. A codec of a caller's says
// so with a method Copies() bool.
func Copies(b Bytes) bool {
	c, ok := b.(interface{ Copies() bool })
	return ok && c.Copies()
}
