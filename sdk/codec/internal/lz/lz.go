// Package lz copies matches, as every decoder of the LZ77 family does, and
// measures them, as every encoder does.
package lz

import (
	"encoding/binary"
	"math/bits"
)

// Wide is how many bytes Copy16 copies.
const Wide = 16

// Copy16 copies 16 bytes from src to dst. Both must have them.
func Copy16(dst, src []byte) {
	dst, src = dst[:16], src[:16]
	a, b := binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint64(src[8:])
	binary.LittleEndian.PutUint64(dst, a)
	binary.LittleEndian.PutUint64(dst[8:], b)
}

// Repeat writes n bytes at dst[at:], each the one that lies distance bytes
// before it: a match of the LZ77 family, which may overlap itself. The caller
// has checked 0 < distance <= at and at+n <= len(dst).
func Repeat(dst []byte, at, distance, n int) {
	from := at - distance
	if distance >= n {
		copy(dst[at:at+n], dst[from:])
		return
	}
	for end := at + n; at < end; {
		// What is written already has the same period: each turn doubles it.
		at += copy(dst[at:end], dst[from:at])
	}
}

// Same is the number of equal bytes at the start of a and b.
func Same(a, b []byte) int {
	n := 0
	for len(a)-n >= 8 && len(b)-n >= 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		n += 8
	}
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
