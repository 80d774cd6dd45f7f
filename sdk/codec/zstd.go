package codec

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// zstdCodec is Zstandard (RFC 8878): several frames and skippable frames are
// accepted, the content size may be absent, checksums are verified.
type zstdCodec struct{}

func newZstd(configuration json.RawMessage) (Bytes, error) {
	return zstdCodec{}, level("zstd", configuration, -131072, 22)
}

// A decoder of the library serves one DecodeAll at a time without waiting,
// so each caller takes one for itself; the pool's per-processor lists keep
// them warm.
var zstdDecoders = sync.Pool{New: func() any {
	// WithDecodeAllCapLimit: never more than the capacity that is handed in.
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
}}

func (zstdCodec) Name() string { return "zstd" }

func (zstdCodec) Copies() bool { return true }

func (zstdCodec) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	dst = room(dst, limit)
	n := len(dst)
	d := zstdDecoders.Get().(*zstd.Decoder)
	out, err := d.DecodeAll(src, dst[:n:n+limit])
	zstdDecoders.Put(d)
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return nil, overLimit("zstd", limit)
	case err != nil:
		return nil, corrupt("zstd", err.Error())
	}
	return out, nil
}

// EncodedSize is ZSTD_compressBound of the reference library.
func (zstdCodec) EncodedSize(n int64) (int64, bool) { return n + n/256 + 128, false }

// room returns dst with space for n more bytes.
func room(dst []byte, n int) []byte {
	if cap(dst)-len(dst) >= n {
		return dst
	}
	grown := make([]byte, len(dst), len(dst)+n)
	copy(grown, dst)
	return grown
}
