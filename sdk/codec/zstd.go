package codec

import (
	"context"
	"encoding/json"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// zstdCodec is Zstandard (RFC 8878): several frames and skippable frames are
// accepted, the content size may be absent, checksums are verified.
type zstdCodec struct {
	named
	level    int
	checksum bool
}

func newZstd(n named, configuration json.RawMessage) (Bytes, error) {
	l, err := n.level(configuration, 3, -131072, 22)
	if err != nil {
		return nil, err
	}
	if l == 0 { // the library's word for its default
		l = 3
	}
	c := rawjson.MembersOf(configuration)
	checksum := c.Bool("checksum")
	if err := n.configured(c); err != nil {
		return nil, err
	}
	return zstdCodec{n, l, checksum}, nil
}

func (zstdCodec) Copies() bool { return true }

func (zstdCodec) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	return block.AppendZstd(dst, src, limit)
}

// EncodedSize is ZSTD_compressBound of the reference library.
func (zstdCodec) EncodedSize(n int64) (int64, bool) { return n + n/256 + 128, false }
