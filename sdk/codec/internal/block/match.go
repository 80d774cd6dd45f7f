package block

import "encoding/binary"

// Wide is how far past its end a short copy may write.
const Wide = 16

// short is the longest match that is copied word by word.
const short = 64

// Copy16 copies 16 bytes from src to dst. Both must have them.
func Copy16(dst, src []byte) {
	a, b := binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint64(src[8:])
	binary.LittleEndian.PutUint64(dst, a)
	binary.LittleEndian.PutUint64(dst[8:], b)
}

// Repeat writes n bytes at dst[at:], each the one that lies distance bytes
// before it: a match of the LZ77 family, which may overlap itself. The caller
// has checked 0 < distance <= at and at+n <= len(dst).
func Repeat(dst []byte, at, distance, n int) {
	from := at - distance
	if n <= short && len(dst)-at >= short+Wide && distance >= 8 {
		// What is written past n is overwritten by what follows.
		if distance >= Wide {
			for i := 0; i < n; i += Wide {
				Copy16(dst[at+i:], dst[from+i:])
			}
			return
		}
		for i := 0; i < n; i += 8 {
			binary.LittleEndian.PutUint64(dst[at+i:], binary.LittleEndian.Uint64(dst[from+i:]))
		}
		return
	}
	for end := at + n; at < end; {
		// What is written already has the same period: each turn doubles it.
		at += copy(dst[at:end], dst[from:at])
	}
}
