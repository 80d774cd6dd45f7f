package codec

import (
	"context"
	"encoding/json"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
	"github.com/gridhold/gridhold/sdk/codec/internal/shuffle"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// byteShuffle has the bytes of equal significance in elements of a size
// together; what is left over after the last whole element is as it was.
type byteShuffle struct {
	named
	size int
}

func newShuffle(n named, configuration json.RawMessage) (Bytes, error) {
	c := rawjson.MembersOf(configuration)
	size := int(c.Int("elementsize", 0, 1<<30, 4))
	if err := n.configured(c); err != nil {
		return nil, err
	}
	return byteShuffle{n, max(size, 1)}, nil
}

func (byteShuffle) Copies() bool { return true }

func (c byteShuffle) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	if len(src) > limit {
		return nil, block.OverLimit(c.Name(), limit)
	}
	out := block.Room(dst, len(src))[:len(dst)+len(src)]
	shuffle.UndoBytes(out[len(dst):], src, c.size)
	return out, nil
}

func (c byteShuffle) Encode(dst, src []byte) ([]byte, error) {
	out := block.Room(dst, len(src))[:len(dst)+len(src)]
	shuffle.Bytes(out[len(dst):], src, c.size)
	return out, nil
}

func (byteShuffle) EncodedSize(n int64) (int64, bool) { return n, true }
