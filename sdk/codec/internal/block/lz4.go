package block

import "encoding/binary"

const lz4MinMatch = 4

// FillLZ4 decodes one LZ4 block into dst and returns how much of it was
// filled: ErrCorrupt if src is damaged or holds more than dst takes.
//
// LZ4 block format: https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md
func FillLZ4(dst, src []byte) (int, error) { return FillLZ4After(dst, 0, src) }

// FillLZ4After is FillLZ4 for a block whose matches may begin in the start
// bytes of dst that come before its output, a dictionary.
func FillLZ4After(dst []byte, start int, src []byte) (int, error) {
	at, p := lz4Sprint(dst, src, start, 0)
	for p < len(src) {
		token := src[p]
		p++
		n := int(token >> 4)
		if n == lz4Short {
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
		at += n
		p += n
		if p == len(src) { // a block ends with literals
			return at - start, nil
		}
		if len(src)-p < 2 {
			return 0, Corrupt("lz4", "ends within an offset")
		}
		distance := int(binary.LittleEndian.Uint16(src[p:]))
		p += 2
		n = int(token & 15)
		if n == lz4Short {
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
		Repeat(dst, at, distance, n)
		at, p = lz4Sprint(dst, src, at+n, p)
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
