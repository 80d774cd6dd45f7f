// Package shuffle rearranges the bytes, or bits, of elements by significance:
// first the lowest byte of each, then the next. What compressors see so is
// smoother. Pure functions; dst and src must not overlap.
package shuffle

// swap exchanges the bits of b under mask with those of a under mask<<shift.
func swap(a, b uint64, shift uint, mask uint64) (uint64, uint64) {
	t := (a>>shift ^ b) & mask
	return a ^ t<<shift, b ^ t
}

const (
	each8  = 0x00ff00ff00ff00ff
	each16 = 0x0000ffff0000ffff
	each32 = 0x00000000ffffffff
)

// bytes4 transposes the two 4x4 squares of bytes in four words: byte i of
// word r (and byte 4+i) changes place with byte r of word i (and 4+r).
func bytes4(w *[4]uint64) {
	w[0], w[2] = swap(w[0], w[2], 16, each16)
	w[1], w[3] = swap(w[1], w[3], 16, each16)
	w[0], w[1] = swap(w[0], w[1], 8, each8)
	w[2], w[3] = swap(w[2], w[3], 8, each8)
}

// bytes8 transposes the 8x8 square of bytes in eight words.
func bytes8(w *[8]uint64) {
	w0, w4 := swap(w[0], w[4], 32, each32)
	w1, w5 := swap(w[1], w[5], 32, each32)
	w2, w6 := swap(w[2], w[6], 32, each32)
	w3, w7 := swap(w[3], w[7], 32, each32)
	w0, w2 = swap(w0, w2, 16, each16)
	w1, w3 = swap(w1, w3, 16, each16)
	w4, w6 = swap(w4, w6, 16, each16)
	w5, w7 = swap(w5, w7, 16, each16)
	w[0], w[1] = swap(w0, w1, 8, each8)
	w[2], w[3] = swap(w2, w3, 8, each8)
	w[4], w[5] = swap(w4, w5, 8, each8)
	w[6], w[7] = swap(w6, w7, 8, each8)
}

// bits8 transposes the 8x8 square of bits in a word.
func bits8(x uint64) uint64 {
	t := (x ^ x>>7) & 0x00aa00aa00aa00aa
	x ^= t ^ t<<7
	t = (x ^ x>>14) & 0x0000cccc0000cccc
	x ^= t ^ t<<14
	t = (x ^ x>>28) & 0x00000000f0f0f0f0
	return x ^ t ^ t<<28
}
