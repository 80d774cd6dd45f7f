package codec

import (
	"context"
	"encoding/json"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
)

// gzipCodec is RFC 1952: several members are accepted, CRC-32 and size are
// verified.
type gzipCodec struct {
	named
	speed int
}

func newGzip(n named, configuration json.RawMessage) (Bytes, error) {
	l, err := n.level(configuration, 5, 0, 9)
	if err != nil {
		return nil, err
	}
	return gzipCodec{n, l}, nil
}

func (gzipCodec) Copies() bool { return true }

func (gzipCodec) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	return block.AppendGzip(dst, src, limit)
}

// EncodedSize is the bound for stored blocks, with header and trailer.
func (gzipCodec) EncodedSize(n int64) (int64, bool) { return n + n/8 + 64, false }
