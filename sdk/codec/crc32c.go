package codec

import (
	"context"
	"encoding/binary"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// crc32c is the last four bytes, little endian: CRC-32C (RFC 3720, appendix
// B.4) of what precedes. Zarr v3 codec "crc32c":
// https://github.com/zarr-developers/zarr-specs/tree/main/docs/v3/codecs/crc32c
type crc32c struct{}

func (crc32c) Name() string { return "crc32c" }

func (crc32c) Decode(_ context.Context, _, src []byte, limit int) ([]byte, error) {
	n := len(src) - 4
	if n < 0 {
		return nil, corrupt("crc32c", "too short for a checksum")
	}
	if n > limit {
		return nil, overLimit("crc32c", limit)
	}
	if crc32.Checksum(src[:n], castagnoli) != binary.LittleEndian.Uint32(src[n:]) {
		return nil, corrupt("crc32c", "checksum does not match")
	}
	return src[:n:n], nil
}

func (crc32c) EncodedSize(n int64) (int64, bool) { return n + 4, true }
