package codec

import (
	"bytes"
	"compress/bzip2"
	"context"
	"encoding/json"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
)

// bz2 is bzip2, decoded only; several streams are accepted.
type bz2 struct{ named }

func newBzip2(n named, configuration json.RawMessage) (Bytes, error) {
	_, err := n.level(configuration, 1, 1, 9)
	if err != nil {
		return nil, err
	}
	return bz2{n}, nil
}

func (bz2) Copies() bool { return true }

func (c bz2) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	return block.Append(c.Name(), dst, bzip2.NewReader(bytes.NewReader(src)), limit)
}

// EncodedSize is the bound that bzip2's manual gives.
func (bz2) EncodedSize(n int64) (int64, bool) { return n + n/100 + 600, false }
