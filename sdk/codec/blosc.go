package codec

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// bloscCodec is a Blosc 1 chunk. All that decoding needs is in the chunk;
// the configuration is only looked at for a compressor that nobody knows.
type bloscCodec struct {
	named
	configuration json.RawMessage
}

func newBlosc(n named, configuration json.RawMessage) (Bytes, error) {
	c := rawjson.MembersOf(configuration)
	compressor := c.String("cname", "lz4")
	if err := n.configured(c); err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"}, compressor) {
		return nil, fault.New(fault.ErrUnsupported, string(n), "cname", strconv.Quote(compressor))
	}
	return bloscCodec{n, configuration}, nil
}

func (bloscCodec) Copies() bool { return true }

func (bloscCodec) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	return blosc.Decode(dst, src, limit)
}

// EncodedSize is that of a chunk that is stored.
func (bloscCodec) EncodedSize(n int64) (int64, bool) { return n + blosc.HeaderSize, false }
