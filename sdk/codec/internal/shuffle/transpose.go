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

// word is the one at i. Slices that end with it cost one check and, unlike
// those that go on, no thought of an empty rest: in a guest, a tenth of the
// time.
func word(b []byte, i int) uint64 { return le.Uint64(b[i : i+8 : i+8]) }

func setWord(b []byte, i int, x uint64) { le.PutUint64(b[i:i+8:i+8], x) }

func half(b []byte, i int) uint64 { return uint64(le.Uint32(b[i : i+4 : i+4])) }

func setHalf(b []byte, i int, x uint64) { le.PutUint32(b[i:i+4:i+4], uint32(x)) }

func quarter(b []byte, i int) uint64 { return uint64(le.Uint16(b[i : i+2 : i+2])) }

func setQuarter(b []byte, i int, x uint64) { le.PutUint16(b[i:i+2:i+2], uint16(x)) }

// What follows takes words, or parts of them, that begin from bytes apart in
// src to others that begin to bytes apart in dst. All is in one function each:
// a guest's calls cost more than what is done here, and pass words through
// memory.

// bytes8 transposes the 8x8 square of bytes in eight words.
func bytes8(dst []byte, to int, src []byte, from int) {
	src = src[:7*from+8]
	dst = dst[:7*to+8]
	a, e := swap(word(src, 0), word(src, 4*from), 32, each32)
	b, f := swap(word(src, from), word(src, 5*from), 32, each32)
	c, g := swap(word(src, 2*from), word(src, 6*from), 32, each32)
	d, h := swap(word(src, 3*from), word(src, 7*from), 32, each32)
	a, c = swap(a, c, 16, each16)
	b, d = swap(b, d, 16, each16)
	a, b = swap(a, b, 8, each8)
	c, d = swap(c, d, 8, each8)
	setWord(dst, 0, a)
	setWord(dst, to, b)
	setWord(dst, 2*to, c)
	setWord(dst, 3*to, d)
	e, g = swap(e, g, 16, each16)
	f, h = swap(f, h, 16, each16)
	e, f = swap(e, f, 8, each8)
	g, h = swap(g, h, 8, each8)
	setWord(dst, 4*to, e)
	setWord(dst, 5*to, f)
	setWord(dst, 6*to, g)
	setWord(dst, 7*to, h)
}

// loadBits transposes the eight 8x8 squares of bits in eight words, one in each
// column of bytes.
func loadBits(w *[line]byte, src []byte, from int) {
	src = src[:7*from+8]
	a, e := swap(word(src, 0), word(src, 4*from), 4, each4)
	b, f := swap(word(src, from), word(src, 5*from), 4, each4)
	c, g := swap(word(src, 2*from), word(src, 6*from), 4, each4)
	d, h := swap(word(src, 3*from), word(src, 7*from), 4, each4)
	a, c = swap(a, c, 2, each2)
	b, d = swap(b, d, 2, each2)
	a, b = swap(a, b, 1, each1)
	c, d = swap(c, d, 1, each1)
	setWord(w[:], 0, a)
	setWord(w[:], 8, b)
	setWord(w[:], 16, c)
	setWord(w[:], 24, d)
	e, g = swap(e, g, 2, each2)
	f, h = swap(f, h, 2, each2)
	e, f = swap(e, f, 1, each1)
	g, h = swap(g, h, 1, each1)
	setWord(w[:], 32, e)
	setWord(w[:], 40, f)
	setWord(w[:], 48, g)
	setWord(w[:], 56, h)
}

// storeBits does the same the other way.
func storeBits(dst []byte, to int, w *[line]byte) {
	dst = dst[:7*to+8]
	a, e := swap(word(w[:], 0), word(w[:], 32), 4, each4)
	b, f := swap(word(w[:], 8), word(w[:], 40), 4, each4)
	c, g := swap(word(w[:], 16), word(w[:], 48), 4, each4)
	d, h := swap(word(w[:], 24), word(w[:], 56), 4, each4)
	a, c = swap(a, c, 2, each2)
	b, d = swap(b, d, 2, each2)
	a, b = swap(a, b, 1, each1)
	c, d = swap(c, d, 1, each1)
	setWord(dst, 0, a)
	setWord(dst, to, b)
	setWord(dst, 2*to, c)
	setWord(dst, 3*to, d)
	e, g = swap(e, g, 2, each2)
	f, h = swap(f, h, 2, each2)
	e, f = swap(e, f, 1, each1)
	g, h = swap(g, h, 1, each1)
	setWord(dst, 4*to, e)
	setWord(dst, 5*to, f)
	setWord(dst, 6*to, g)
	setWord(dst, 7*to, h)
}

// bytes4 makes four words of eight parts of four bytes: the first bytes, the
// second, ...
func bytes4(dst []byte, to int, src []byte, from int) {
	src = src[:7*from+4]
	dst = dst[:3*to+8]
	a := half(src, 0) | half(src, 4*from)<<32
	b := half(src, from) | half(src, 5*from)<<32
	c := half(src, 2*from) | half(src, 6*from)<<32
	d := half(src, 3*from) | half(src, 7*from)<<32
	a, c = swap(a, c, 16, each16)
	b, d = swap(b, d, 16, each16)
	a, b = swap(a, b, 8, each8)
	c, d = swap(c, d, 8, each8)
	setWord(dst, 0, a)
	setWord(dst, to, b)
	setWord(dst, 2*to, c)
	setWord(dst, 3*to, d)
}

// undo4 is the inverse of bytes4.
func undo4(dst []byte, to int, src []byte, from int) {
	src = src[:3*from+8]
	dst = dst[:7*to+4]
	a, c := swap(word(src, 0), word(src, 2*from), 16, each16)
	b, d := swap(word(src, from), word(src, 3*from), 16, each16)
	a, b = swap(a, b, 8, each8)
	c, d = swap(c, d, 8, each8)
	setHalf(dst, 0, a)
	setHalf(dst, to, b)
	setHalf(dst, 2*to, c)
	setHalf(dst, 3*to, d)
	setHalf(dst, 4*to, a>>32)
	setHalf(dst, 5*to, b>>32)
	setHalf(dst, 6*to, c>>32)
	setHalf(dst, 7*to, d>>32)
}

// load4 is bytes4 of parts without gaps.
func load4(dst []byte, to int, w *[4 * 8]byte) {
	dst = dst[:3*to+8]
	a, b := swap(word(w[:], 0), word(w[:], 16), 32, each32)
	c, d := swap(word(w[:], 8), word(w[:], 24), 32, each32)
	a, c = swap(a, c, 16, each16)
	b, d = swap(b, d, 16, each16)
	a, b = swap(a, b, 8, each8)
	c, d = swap(c, d, 8, each8)
	setWord(dst, 0, a)
	setWord(dst, to, b)
	setWord(dst, 2*to, c)
	setWord(dst, 3*to, d)
}

// store4 is the inverse of load4.
func store4(w *[4 * 8]byte, src []byte, from int) {
	src = src[:3*from+8]
	a, c := swap(word(src, 0), word(src, 2*from), 16, each16)
	b, d := swap(word(src, from), word(src, 3*from), 16, each16)
	a, b = swap(a, b, 8, each8)
	c, d = swap(c, d, 8, each8)
	a, b = swap(a, b, 32, each32)
	c, d = swap(c, d, 32, each32)
	setWord(w[:], 0, a)
	setWord(w[:], 8, c)
	setWord(w[:], 16, b)
	setWord(w[:], 24, d)
}

// bytes2 makes two words of eight parts of two bytes, those of which the
// number is even before the others: the first bytes, and the second.
func bytes2(dst []byte, to int, src []byte, from int) {
	src = src[:7*from+2]
	dst = dst[:to+8]
	a := quarter(src, 0) | quarter(src, 2*from)<<16 | quarter(src, 4*from)<<32 | quarter(src, 6*from)<<48
	b := quarter(src, from) | quarter(src, 3*from)<<16 | quarter(src, 5*from)<<32 | quarter(src, 7*from)<<48
	a, b = swap(a, b, 8, each8)
	setWord(dst, 0, a)
	setWord(dst, to, b)
}

// undo2 is the inverse of bytes2.
func undo2(dst []byte, to int, src []byte, from int) {
	src = src[:from+8]
	dst = dst[:7*to+2]
	a, b := swap(word(src, 0), word(src, from), 8, each8)
	setQuarter(dst, 0, a)
	setQuarter(dst, to, b)
	setQuarter(dst, 2*to, a>>16)
	setQuarter(dst, 3*to, b>>16)
	setQuarter(dst, 4*to, a>>32)
	setQuarter(dst, 5*to, b>>32)
	setQuarter(dst, 6*to, a>>48)
	setQuarter(dst, 7*to, b>>48)
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
