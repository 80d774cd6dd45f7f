package block

import "encoding/binary"

// PrefixLZ4 fills dst with the first bytes of what one LZ4 block decodes to,
// and looks at no more of src than that takes: ErrCorrupt if that part is
// damaged or the block ends before dst is full. It is FillLZ4 for who needs
// the beginning only.
func PrefixLZ4(dst, src []byte) error {
	for at, p := 0, 0; at < len(dst); {
		if at, p = lz4Sprint(dst, src, at, p); at == len(dst) {
			break
		}
		if p >= len(src) {
			return Corrupt("lz4", "ends early")
		}
		token := src[p]
		p++
		n := int(token >> 4)
		if n == lz4Short {
			var ok bool
			if n, p, ok = lz4Length(n, src, p, len(src)); !ok {
				return Corrupt("lz4", "a literal run is damaged")
			}
		}
		n = min(n, len(dst)-at)
		if n > len(src)-p {
			return Corrupt("lz4", "a literal run passes the end of the input")
		}
		copy(dst[at:], src[p:p+n])
		at += n
		p += n
		if at == len(dst) {
			return nil
		}
		if len(src)-p < 2 {
			return Corrupt("lz4", "ends within an offset")
		}
		distance := int(binary.LittleEndian.Uint16(src[p:]))
		p += 2
		n = int(token & 15)
		if n == lz4Short {
			var ok bool
			if n, p, ok = lz4Length(n, src, p, len(src)*255); !ok {
				return Corrupt("lz4", "a match length is damaged")
			}
		}
		n += lz4MinMatch
		if distance == 0 || distance > at {
			return Corrupt("lz4", "a match begins before the output")
		}
		n = min(n, len(dst)-at)
		Repeat(dst, at, distance, n)
		at += n
	}
	return nil
}
