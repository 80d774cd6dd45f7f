package blosc

import "github.com/gridhold/gridhold/sdk/codec/internal/block"

const (
	bloscLZNear = 8191 // distances up to here have 13 bits, farther ones 16 more
	bloscLZMin  = 3    // shortest match
)

// fillBloscLZ decodes BloscLZ into dst and returns how much of it was filled.
// Each instruction is a byte c: below 32 it is followed by c+1 literals;
// else its top three bits are the length of a match less 2 (all set: more
// bytes follow), its others the high bits of the distance.
//
// BloscLZ: https://github.com/Blosc/c-blosc/blob/main/blosc/blosclz.c
func fillBloscLZ(dst, src []byte) (int, error) {
	if len(src) == 0 {
		return 0, nil
	}
	at, p := 0, 1
	c := int(src[0]) & 31 // nothing to match yet: the top bits are a version
	for {
		if c < 32 {
			n := c + 1
			if n > len(src)-p || n > len(dst)-at {
				return 0, block.Corrupt("blosclz", "a literal run passes the end")
			}
			if len(src)-p >= 2*block.Wide && len(dst)-at >= 2*block.Wide {
				block.Copy16(dst[at:], src[p:])
				block.Copy16(dst[at+block.Wide:], src[p+block.Wide:])
			} else {
				copy(dst[at:], src[p:p+n])
			}
			at += n
			p += n
		} else {
			n := c>>5 - 1
			if n == 6 {
				for more := byte(255); more == 255; p++ {
					if p >= len(src) || n > len(dst) {
						return 0, block.Corrupt("blosclz", "a match length is damaged")
					}
					more = src[p]
					n += int(more)
				}
			}
			n += bloscLZMin
			if p >= len(src) {
				return 0, block.Corrupt("blosclz", "ends within a match")
			}
			high, low := c&31<<8, int(src[p])
			p++
			distance := high + low + 1
			if low == 255 && high == 31<<8 {
				if len(src)-p < 2 {
					return 0, block.Corrupt("blosclz", "ends within a match")
				}
				distance = int(src[p])<<8 + int(src[p+1]) + bloscLZNear + 1
				p += 2
			}
			if distance > at {
				return 0, block.Corrupt("blosclz", "a match begins before the output")
			}
			if n > len(dst)-at {
				return 0, block.Corrupt("blosclz", "a match passes the end of the output")
			}
			if n <= block.Wide && distance >= block.Wide && len(dst)-at >= block.Wide { // what is too much is overwritten next
				block.Copy16(dst[at:], dst[at-distance:])
			} else {
				block.Repeat(dst, at, distance, n)
			}
			at += n
		}
		if p >= len(src) {
			return at, nil
		}
		c = int(src[p])
		p++
	}
}
