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
	each1  = 0x5555555555555555
	each2  = 0x3333333333333333
	each4  = 0x0f0f0f0f0f0f0f0f
	each8  = 0x00ff00ff00ff00ff
	each16 = 0x0000ffff0000ffff
	each32 = 0x00000000ffffffff
)

// Words are passed one by one: they stay in registers.

// bytes4 transposes the two 4x4 squares of bytes in four words: byte i of
// word r (and byte 4+i) changes place with byte r of word i (and 4+r).
func bytes4(a, b, c, d uint64) (uint64, uint64, uint64, uint64) {
	a, c = swap(a, c, 16, each16)
	b, d = swap(b, d, 16, each16)
	a, b = swap(a, b, 8, each8)
	c, d = swap(c, d, 8, each8)
	return a, b, c, d
}

// bytes8 transposes the 8x8 square of bytes in eight words.
func bytes8(a, b, c, d, e, f, g, h uint64) (uint64, uint64, uint64, uint64, uint64, uint64, uint64, uint64) {
	a, e = swap(a, e, 32, each32)
	b, f = swap(b, f, 32, each32)
	c, g = swap(c, g, 32, each32)
	d, h = swap(d, h, 32, each32)
	a, c = swap(a, c, 16, each16)
	b, d = swap(b, d, 16, each16)
	e, g = swap(e, g, 16, each16)
	f, h = swap(f, h, 16, each16)
	a, b = swap(a, b, 8, each8)
	c, d = swap(c, d, 8, each8)
	e, f = swap(e, f, 8, each8)
	g, h = swap(g, h, 8, each8)
	return a, b, c, d, e, f, g, h
}

// bits8 transposes the eight 8x8 squares of bits in eight words, one in each
// column of bytes.
func bits8(a, b, c, d, e, f, g, h uint64) (uint64, uint64, uint64, uint64, uint64, uint64, uint64, uint64) {
	a, e = swap(a, e, 4, each4)
	b, f = swap(b, f, 4, each4)
	c, g = swap(c, g, 4, each4)
	d, h = swap(d, h, 4, each4)
	a, c = swap(a, c, 2, each2)
	b, d = swap(b, d, 2, each2)
	e, g = swap(e, g, 2, each2)
	f, h = swap(f, h, 2, each2)
	a, b = swap(a, b, 1, each1)
	c, d = swap(c, d, 1, each1)
	e, f = swap(e, f, 1, each1)
	g, h = swap(g, h, 1, each1)
	return a, b, c, d, e, f, g, h
}

// square transposes the 8x8 square of bits in a word.
func square(x uint64) uint64 {
	t := (x ^ x>>7) & 0x00aa00aa00aa00aa
	x ^= t ^ t<<7
	t = (x ^ x>>14) & 0x0000cccc0000cccc
	x ^= t ^ t<<14
	t = (x ^ x>>28) & 0x00000000f0f0f0f0
	return x ^ t ^ t<<28
}
