package codec

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// zstdCodec is Zstandard (RFC 8878): several frames and skippable frames are
// accepted, the content size may be absent, checksums are verified.
type zstdCodec struct {
	named
	speed    zstd.EncoderLevel
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
	return zstdCodec{n, zstd.EncoderLevelFromZstd(l), checksum}, nil
}

// zstdEncoders are those that are not in use, by checksum and level. Nothing
// but Encode refers to what makes them: a program that only reads is smaller.
var zstdEncoders [2][zstd.SpeedBestCompression + 1]sync.Pool

func (zstdCodec) Copies() bool { return true }

func (zstdCodec) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	return block.AppendZstd(dst, src, limit)
}

func (c zstdCodec) Encode(dst, src []byte) ([]byte, error) {
	pool := &zstdEncoders[truth(c.checksum)][c.speed]
	e, _ := pool.Get().(*zstd.Encoder)
	if e == nil {
		var err error
		e, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(c.speed), zstd.WithEncoderCRC(c.checksum), zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, c.invalid("level", err.Error())
		}
	}
	defer pool.Put(e)
	return e.EncodeAll(src, dst), nil
}

// EncodedSize is ZSTD_compressBound of the reference library.
func (zstdCodec) EncodedSize(n int64) (int64, bool) { return n + n/256 + 128, false }
