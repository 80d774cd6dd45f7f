package block

import "encoding/binary"

// FillSnappy decodes one Snappy block into dst and returns how much of it was
// filled: ErrCorrupt if src is damaged or states another size than it has or
// than dst takes.
//
// Snappy format: https://github.com/google/snappy/blob/main/format_description.txt
func FillSnappy(dst, src []byte) (int, error) {
	size, p := binary.Uvarint(src)
	if p <= 0 || p > 5 || size > uint64(len(dst)) { // a size has 32 bits
		return 0, Corrupt("snappy", "states a wrong size")
	}
	dst = dst[:size]
	at := 0
	for p < len(src) {
		tag := src[p]
		p++
		var n, distance, extra int
		switch tag & 3 {
		case 0:
			if n = int(tag >> 2); n >= 60 {
				extra = n - 59
			}
		case 1:
			n, distance, extra = 4+int(tag>>2&7), int(tag>>5)<<8, 1
		case 2:
			n, extra = 1+int(tag>>2), 2
		case 3:
			n, extra = 1+int(tag>>2), 4
		}
		if extra > len(src)-p {
			return 0, Corrupt("snappy", "ends within an element")
		}
		var more uint32
		for i := range extra {
			more |= uint32(src[p+i]) << (8 * i)
		}
		p += extra
		if tag&3 == 0 {
			length := int64(n) + 1
			if extra > 0 {
				length = int64(more) + 1
			}
			if length > int64(len(src)-p) || length > int64(len(dst)-at) {
				return 0, Corrupt("snappy", "a literal run passes the end")
			}
			n = int(length)
			copy(dst[at:], src[p:p+n])
			p += n
		} else {
			back := int64(distance) + int64(more)
			if back == 0 || back > int64(at) || n > len(dst)-at {
				return 0, Corrupt("snappy", "a copy lies outside the output")
			}
			Repeat(dst, at, int(back), n)
		}
		at += n
	}
	if at != len(dst) {
		return 0, Corrupt("snappy", "decodes to less than the size it states")
	}
	return at, nil
}
