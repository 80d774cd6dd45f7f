package codec

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
)

// zstdCodec is Zstandard (RFC 8878): several frames and skippable frames are
// accepted, the content size may be absent, checksums are verified.
type zstdCodec struct {
	named
	encoders *sync.Pool
}

func newZstd(n named, configuration json.RawMessage) (Bytes, error) {
	l, err := n.level(configuration, 3, -131072, 22)
	if err != nil {
		return nil, err
	}
	if l == 0 { // the library's word for its default
		l = 3
	}
	var c struct {
		Checksum bool `json:"checksum"`
	}
	if err := n.configure(configuration, &c); err != nil {
		return nil, err
	}
	return zstdCodec{n, zstdEncoders(zstd.EncoderLevelFromZstd(l), c.Checksum)}, nil
}

// zstdEncoders makes a pool of encoders. An encoder is made by a codec's
// first Encode, so that who only reads pays for none.
func zstdEncoders(level zstd.EncoderLevel, checksum bool) *sync.Pool {
	return &sync.Pool{New: func() any {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderCRC(checksum), zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err) // the options are constants and a level that the library gave
		}
		return e
	}}
}

func (zstdCodec) Copies() bool { return true }

func (zstdCodec) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	return block.AppendZstd(dst, src, limit)
}

func (c zstdCodec) Encode(dst, src []byte) ([]byte, error) {
	e := c.encoders.Get().(*zstd.Encoder)
	defer c.encoders.Put(e)
	return e.EncodeAll(src, dst), nil
}

// EncodedSize is ZSTD_compressBound of the reference library.
func (zstdCodec) EncodedSize(n int64) (int64, bool) { return n + n/256 + 128, false }
