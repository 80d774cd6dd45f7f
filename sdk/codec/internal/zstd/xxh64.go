package zstd

import "math/bits"

const (
	prime1 = 0x9e3779b185ebca87
	prime2 = 0xc2b2ae3d27d4eb4f
	prime3 = 0x165667b19e3779f9
	prime4 = 0x85ebca77c2b2ae63
	prime5 = 0x27d4eb2f165667c5
)

// xxh64 is the hash XXH64 with the seed 0:
// https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
func xxh64(b []byte) uint64 {
	n := uint64(len(b))
	h := uint64(prime5)
	if len(b) >= 32 {
		var p1, p2 uint64 = prime1, prime2
		v1, v2, v3, v4 := p1+p2, p2, uint64(0), -p1
		for ; len(b) >= 32; b = b[32:] {
			v1 = round(v1, le.Uint64(b))
			v2 = round(v2, le.Uint64(b[8:]))
			v3 = round(v3, le.Uint64(b[16:]))
			v4 = round(v4, le.Uint64(b[24:]))
		}
		h = bits.RotateLeft64(v1, 1) + bits.RotateLeft64(v2, 7) + bits.RotateLeft64(v3, 12) + bits.RotateLeft64(v4, 18)
		for _, v := range [4]uint64{v1, v2, v3, v4} {
			h = (h^round(0, v))*prime1 + prime4
		}
	}
	h += n
	for ; len(b) >= 8; b = b[8:] {
		h = bits.RotateLeft64(h^round(0, le.Uint64(b)), 27)*prime1 + prime4
	}
	if len(b) >= 4 {
		h = bits.RotateLeft64(h^uint64(le.Uint32(b))*prime1, 23)*prime2 + prime3
		b = b[4:]
	}
	for _, c := range b {
		h = bits.RotateLeft64(h^uint64(c)*prime5, 11) * prime1
	}
	h = (h ^ h>>33) * prime2
	h = (h ^ h>>29) * prime3
	return h ^ h>>32
}

func round(v, x uint64) uint64 { return bits.RotateLeft64(v+x*prime2, 31) * prime1 }
