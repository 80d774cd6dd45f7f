package image

import (
	"encoding/binary"
	"math/bits"
)

// swapBytes reverses the byte order of every number of size bytes in b, which
// holds whole numbers.
func swapBytes(b []byte, size int) {
	le := binary.LittleEndian
	switch size {
	case 2:
		for ; len(b) >= 8; b = b[8:] { // four at a time
			x := le.Uint64(b)
			le.PutUint64(b, x>>8&0x00ff00ff00ff00ff|x&0x00ff00ff00ff00ff<<8)
		}
		for ; len(b) >= 2; b = b[2:] {
			b[0], b[1] = b[1], b[0]
		}
	case 4:
		for ; len(b) >= 4; b = b[4:] {
			le.PutUint32(b, bits.ReverseBytes32(le.Uint32(b)))
		}
	case 8:
		for ; len(b) >= 8; b = b[8:] {
			le.PutUint64(b, bits.ReverseBytes64(le.Uint64(b)))
		}
	}
}
