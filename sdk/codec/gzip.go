package codec

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/klauspost/compress/gzip"

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

// gzipReader is a decoder with the reader that it reads from.
type gzipReader struct {
	src bytes.Reader
	z   gzip.Reader
}

var gzipReaders = sync.Pool{New: func() any { return new(gzipReader) }}

func (gzipCodec) Copies() bool { return true }

func (c gzipCodec) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	r := gzipReaders.Get().(*gzipReader)
	defer gzipReaders.Put(r)
	defer r.src.Reset(nil) // keep no caller's memory alive
	r.src.Reset(src)
	if err := r.z.Reset(&r.src); err != nil {
		return nil, c.corrupt(err.Error())
	}
	return block.Append(c.Name(), dst, &r.z, limit)
}

func (c gzipCodec) Encode(dst, src []byte) ([]byte, error) {
	to := bytes.NewBuffer(dst)
	w, err := gzip.NewWriterLevel(to, c.speed)
	if err != nil {
		return nil, c.invalid("level", err.Error())
	}
	return finish(to, w, src)
}

// EncodedSize is the bound for stored blocks, with header and trailer.
func (gzipCodec) EncodedSize(n int64) (int64, bool) { return n + n/8 + 64, false }
