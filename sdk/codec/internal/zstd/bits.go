package zstd

import "math/bits"

// Streams of bits are read from their end. The highest bit that is set in the
// last byte says where; the position p counts the bits that are left.

// start returns the position of a stream, -1 for one without an end.
func start(src []byte) int {
	if len(src) == 0 || src[len(src)-1] == 0 {
		return -1
	}
	return 8*len(src) - 9 + bits.Len8(src[len(src)-1])
}

// loaded is how many bits load gives at least, where there are so many.
const loaded = 57

// load returns the next bits, the first of them on top; zeros follow those
// that are left.
func load(src []byte, p int) uint64 {
	k := (p + 7) >> 3
	if k >= 8 {
		return le.Uint64(src[k-8:k]) << (-p & 7)
	}
	var w uint64
	for i := range k { // none for p < 0
		w |= uint64(src[i]) << (8 * (8 - k + i))
	}
	return w << (-p & 7)
}

// top returns the n bits on top, n < 64.
func top(acc uint64, n int) int { return int(acc >> 1 >> ((63 - n) & 63)) }

// forward reads bits from the start; zeros follow the last.
type forward struct {
	src []byte
	at  int // bits
}

// peek returns the next n bits, at most 16.
func (f *forward) peek(n int) int {
	var w uint32
	for i := range 3 {
		if k := f.at>>3 + i; k < len(f.src) {
			w |= uint32(f.src[k]) << (8 * i)
		}
	}
	return int(w>>(f.at&7)) & (1<<n - 1)
}
