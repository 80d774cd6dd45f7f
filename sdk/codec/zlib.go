package codec

import (
	"context"
	"encoding/json"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
)

// zlibCodec is RFC 1950; its Adler-32 is verified.
type zlibCodec struct {
	named
	speed int
}

func newZlib(n named, configuration json.RawMessage) (Bytes, error) {
	l, err := n.level(configuration, 1, -1, 9)
	if err != nil {
		return nil, err
	}
	return zlibCodec{n, l}, nil
}

func (zlibCodec) Copies() bool { return true }

func (zlibCodec) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	return block.AppendZlib(dst, src, limit)
}

// EncodedSize is the bound for stored blocks, with header and trailer.
func (zlibCodec) EncodedSize(n int64) (int64, bool) { return n + n/8 + 64, false }
