package block

import (
	"encoding/binary"
	"hash/adler32"

	"github.com/gridhold/gridhold/sdk/codec/internal/deflate"
)

// AppendZlibPacked appends src as one zlib stream (RFC 1950) to dst. level is
// in 1..9.
func AppendZlibPacked(dst, src []byte, level int) []byte {
	// The second byte names an effort, which readers ignore, and makes the two
	// a multiple of 31.
	dst = append(dst, 0x78, [...]byte{0x01, 0x5e, 0x9c, 0xda}[min(level/2, 3)])
	return binary.BigEndian.AppendUint32(deflate.Append(dst, src, level), adler32.Checksum(src))
}
