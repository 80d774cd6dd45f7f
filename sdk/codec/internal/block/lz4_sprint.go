package block

import "encoding/binary"

// Most sequences have less than lz4Short literals and a match of less than
// lz4Short+lz4MinMatch bytes. They are copied without asking how long they
// are: what is too much is overwritten next.
const (
	lz4Short = 15
	lz4In    = 1 + Wide + 2      // bytes of input that a short sequence may read
	lz4Match = lz4Short + 3      // bytes of a short match
	lz4Out   = lz4Short + 2*Wide // bytes of output that are there for a short sequence
	lz4Near  = 8                 // distance from which on so many bytes are copied at once
	lz4Loop  = 8 * Wide          // bytes of a match that are copied without a call
)

// lz4Farther are multiples of the distances below lz4Near that are not below it.
// From so far away comes the same, once lz4Near bytes of a match are there.
var lz4Farther = [lz4Near]int{0, 8, 8, 9, 8, 10, 12, 14}

// lz4Run decodes sequences from src[p:] to dst[at:], after which it returns
// where it is: near the end of either, or at a sequence that is damaged.
func lz4Run(dst, src []byte, at, p int) (int, int) {
	for p <= len(src)-lz4In && at <= len(dst)-lz4Out {
		in, out := (*[lz4In]byte)(src[p:]), (*[lz4Out]byte)(dst[at:])
		n, m := int(in[0]>>4), int(in[0]&15)
		*(*[Wide]byte)(out[:]) = *(*[Wide]byte)(in[1:])
		end, next, distance := at+n, p+3+n, 0
		if n < lz4Short {
			distance = int(binary.LittleEndian.Uint16(in[1+n:]))
		} else {
			n, k, ok := lz4Length(n, src, p+1, len(dst))
			if !ok || n > len(src)-k-2 || n > len(dst)-at-lz4Out {
				break
			}
			copy(dst[at:at+n], src[k:])
			end, next = at+n, k+n+2
			distance = int(binary.LittleEndian.Uint16(src[next-2:]))
		}
		if m < lz4Short && distance >= lz4Near && distance <= end {
			to, from := (*[lz4Match]byte)(dst[end:]), (*[lz4Match]byte)(dst[end-distance:])
			binary.LittleEndian.PutUint64(to[:], binary.LittleEndian.Uint64(from[:]))
			binary.LittleEndian.PutUint64(to[8:], binary.LittleEndian.Uint64(from[8:]))
			binary.LittleEndian.PutUint16(to[16:], binary.LittleEndian.Uint16(from[16:]))
			at, p = end+m+lz4MinMatch, next
			continue
		}
		if distance == 0 || distance > end {
			break
		}
		if m == lz4Short {
			var ok bool
			if m, next, ok = lz4Length(m, src, next, len(dst)); !ok {
				break
			}
		}
		m += lz4MinMatch
		if m > len(dst)-end-Wide {
			break
		}
		switch {
		case m > lz4Loop:
			Repeat(dst, end, distance, m)
		case distance >= Wide:
			for i := end; i < end+m; i += Wide {
				*(*[Wide]byte)(dst[i:]) = *(*[Wide]byte)(dst[i-distance:])
			}
		default:
			i := end
			if distance < lz4Near {
				for ; i < end+lz4Near; i++ {
					dst[i] = dst[i-distance]
				}
				distance = lz4Farther[distance]
			}
			for ; i < end+m; i += lz4Near {
				binary.LittleEndian.PutUint64(dst[i:], binary.LittleEndian.Uint64(dst[i-distance:]))
			}
		}
		at, p = end+m, next
	}
	return at, p
}
