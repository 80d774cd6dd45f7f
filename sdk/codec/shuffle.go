package codec

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
	"github.com/gridhold/gridhold/sdk/codec/internal/shuffle"
)

// byteShuffle has the bytes of equal significance in elements of a size
// together; what is left over after the last whole element is as it was.
type byteShuffle struct {
	named
	size int
}

func newShuffle(n named, configuration json.RawMessage) (Bytes, error) {
	c := struct {
		Size int `json:"elementsize"`
	}{4}
	if err := n.configure(configuration, &c); err != nil {
		return nil, err
	}
	if c.Size < 0 {
		return nil, n.invalid("elementsize", strconv.Itoa(c.Size)+" is negative")
	}
	return byteShuffle{n, max(c.Size, 1)}, nil
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
