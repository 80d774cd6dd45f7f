package wire

import "encoding/binary"

// MaxDims is the largest number of dimensions in a request.
const MaxDims = 64

// Reader takes a packed request apart. Reading past its end, or a count
// that is too large, makes it bad for good; the values are then zero.
type Reader struct {
	rest []byte
	bad  bool
}

// NewReader makes a Reader of a request. It does not copy b.
func NewReader(b []byte) Reader { return Reader{rest: b} }

// U32 reads a u32.
func (r *Reader) U32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// I64 reads an i64.
func (r *Reader) I64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// Dims appends n i64 to dst.
func (r *Reader) Dims(dst []int64, n uint32) []int64 {
	if n > MaxDims {
		r.bad = true
		return dst
	}
	b := r.take(8 * int(n))
	for ; len(b) >= 8; b = b[8:] {
		dst = append(dst, int64(binary.LittleEndian.Uint64(b)))
	}
	return dst
}

// Rest takes all that is left, without a copy.
func (r *Reader) Rest() []byte {
	b := r.rest
	r.rest = nil
	return b
}

// Bad reports whether the request was not well formed up to here.
func (r *Reader) Bad() bool { return r.bad }

// Done reports whether the request was well formed and read to its end.
func (r *Reader) Done() bool { return !r.bad && len(r.rest) == 0 }

func (r *Reader) take(n int) []byte {
	if r.bad || n > len(r.rest) {
		r.bad = true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// Bytes takes n bytes, without a copy.
func (r *Reader) Bytes(n uint32) []byte { return r.take(int(min(n, 1<<31-1))) }
