package block

import (
	"encoding/binary"
	"math/bits"
)

const lz4MinMatch = 4

// FillLZ4 decodes one LZ4 block into dst and returns how much of it was
// filled: ErrCorrupt if src is damaged or holds more than dst takes.
//
// LZ4 block format: https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md
func FillLZ4(dst, src []byte) (int, error) {
	at := 0
	for p := 0; p < len(src); {
		token := src[p]
		p++
		n := int(token >> 4)
		if n < 15 && len(src)-p >= Wide && len(dst)-at >= Wide {
			Copy16(dst[at:], src[p:])
		} else {
			if n == 15 {
				var ok bool
				if n, p, ok = lz4Length(n, src, p, len(dst)); !ok {
					return 0, Corrupt("lz4", "a literal run is damaged")
				}
			}
			if n > len(src)-p {
				return 0, Corrupt("lz4", "a literal run passes the end of the input")
			}
			if n > len(dst)-at {
				return 0, Corrupt("lz4", "a literal run passes the end of the output")
			}
			copy(dst[at:], src[p:p+n])
		}
		at += n
		p += n
		if p == len(src) { // a block ends with literals
			return at, nil
		}
		if len(src)-p < 2 {
			return 0, Corrupt("lz4", "ends within an offset")
		}
		distance := int(binary.LittleEndian.Uint16(src[p:]))
		p += 2
		n = int(token & 15)
		if n == 15 {
			var ok bool
			if n, p, ok = lz4Length(n, src, p, len(dst)); !ok {
				return 0, Corrupt("lz4", "a match length is damaged")
			}
		}
		n += lz4MinMatch
		if distance == 0 || distance > at {
			return 0, Corrupt("lz4", "a match begins before the output")
		}
		if n > len(dst)-at {
			return 0, Corrupt("lz4", "a match passes the end of the output")
		}
		if n <= Wide && distance >= Wide && len(dst)-at >= Wide { // most are; what is too much is overwritten next
			Copy16(dst[at:], dst[at-distance:])
		} else {
			Repeat(dst, at, distance, n)
		}
		at += n
	}
	return 0, Corrupt("lz4", "ends without literals")
}

// lz4Length adds the bytes that continue a length of 15. It stops above
// most, so that no run of 255s overflows.
func lz4Length(n int, src []byte, p, most int) (length, next int, ok bool) {
	for p < len(src) && n <= most {
		c := src[p]
		p++
		n += int(c)
		if c != 255 {
			return n, p, true
		}
	}
	return 0, p, false
}

// LZ4Bound is the size of the largest block of n bytes.
func LZ4Bound(n int64) int64 { return n + n/255 + 16 }

const (
	lz4HashBits = 14
	lz4Far      = 1<<16 - 1
	lz4Tail     = 12 // no match begins in the last 12 bytes
	lz4Last     = 5  // nor reaches into the last 5
)

// AppendLZ4 appends src as one LZ4 block to dst. It is greedy, with one table
// of positions by hash, and skips ahead where nothing matches.
func AppendLZ4(dst, src []byte) []byte {
	var table [1 << lz4HashBits]uint32 // position+1
	from := 0
	for at := 0; at < len(src)-lz4Tail; {
		word := binary.LittleEndian.Uint32(src[at:])
		h := lz4Hash(word)
		seen := int(table[h]) - 1
		table[h] = uint32(at) + 1
		if seen < 0 || at-seen > lz4Far || binary.LittleEndian.Uint32(src[seen:]) != word {
			at += 1 + (at-from)>>6
			continue
		}
		end := at + lz4MinMatch + same(src[at+lz4MinMatch:len(src)-lz4Last], src[seen+lz4MinMatch:])
		for at > from && seen > 0 && src[at-1] == src[seen-1] {
			at--
			seen--
		}
		dst = lz4Sequence(dst, src[from:at], at-seen, end-at)
		at, from = end, end
		// What repeats often repeats from near the end of a match.
		table[lz4Hash(binary.LittleEndian.Uint32(src[at-2:]))] = uint32(at) - 1
	}
	return lz4Sequence(dst, src[from:], 0, 0)
}

func lz4Hash(word uint32) uint32 { return word * 2654435761 >> (32 - lz4HashBits) }

// same is the number of equal bytes at the start of a and b.
func same(a, b []byte) int {
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

// lz4Sequence appends literals and a match; distance 0 says that there is none.
func lz4Sequence(dst, literals []byte, distance, n int) []byte {
	token := min(len(literals), 15) << 4
	if distance > 0 {
		token |= min(n-lz4MinMatch, 15)
	}
	dst = append(dst, byte(token))
	dst = append(lz4AppendLength(dst, len(literals)), literals...)
	if distance > 0 {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(distance))
		dst = lz4AppendLength(dst, n-lz4MinMatch)
	}
	return dst
}

// lz4AppendLength appends what of a length the token does not hold.
func lz4AppendLength(dst []byte, n int) []byte {
	if n < 15 {
		return dst
	}
	for n -= 15; n >= 255; n -= 255 {
		dst = append(dst, 255)
	}
	return append(dst, byte(n))
}
