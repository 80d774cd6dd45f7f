package blosc

import "encoding/binary"

// Differences, eight bytes to a word.

var le = binary.LittleEndian

const (
	evenBytes = 0x00ff00ff00ff00ff
	eachPair  = 0x0001000100010001
	highBits  = 0x8080808080808080
)

// xor is dst ^= src. src has at least the length of dst.
func xor(dst, src []byte) {
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		le.PutUint64(dst[i:], le.Uint64(dst[i:])^le.Uint64(src[i:]))
	}
	for ; i < len(dst); i++ {
		dst[i] ^= src[i]
	}
}

// xorBefore is b[i] ^= b[i-w], from the first to the last; w is 1, 2, 4 or 8.
func xorBefore(b []byte, w int) {
	bits := 8 * w
	each := ^uint64(0) / (^uint64(0) >> (64 - bits)) // a one in each lane of w bytes
	var before uint64                                // the last lane, in each
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x := le.Uint64(b[i:])
		for by := bits; by < 64; by *= 2 {
			x ^= x << by
		}
		le.PutUint64(b[i:], x^before)
		before ^= (x >> (64 - bits)) * each
	}
	for i = max(i, w); i < len(b); i++ {
		b[i] ^= b[i-w]
	}
}

// sumBytes is b[i] += b[i-1], from the first to the last.
func sumBytes(b []byte) {
	var before uint64 // the last sum, in each of four
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x := le.Uint64(b[i:])
		odd := x >> 8 & evenBytes
		sums := (x&evenBytes + odd) * eachPair // of pairs of bytes, with all before: 16 bits are enough
		all := sums + before
		le.PutUint64(b[i:], (all-odd)&evenBytes|(all&evenBytes)<<8)
		before = (before + (sums>>48)*eachPair) & evenBytes
	}
	sum := byte(before)
	for ; i < len(b); i++ {
		sum += b[i]
		b[i] = sum
	}
}

// lessBefore is dst[i] = src[i] - src[i-1]. dst has the length of src and may
// not be it.
func lessBefore(dst, src []byte) {
	dst = dst[:len(src)]
	var before uint64
	i := 0
	for ; i+8 <= len(src); i += 8 {
		x := le.Uint64(src[i:])
		y := x<<8 | before
		le.PutUint64(dst[i:], ((x|highBits)-y&^highBits)^(^(x^y)&highBits)) // nothing borrowed from the next byte
		before = x >> 56
	}
	for ; i < len(src); i++ {
		dst[i] = src[i] - byte(before)
		before = uint64(src[i])
	}
}
