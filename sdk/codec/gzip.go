package codec

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// gzipCodec is RFC 1952: several members are accepted, CRC-32 and size are
// verified.
type gzipCodec struct{}

func newGzip(configuration json.RawMessage) (Bytes, error) {
	return gzipCodec{}, level("gzip", configuration, 0, 9)
}

// gzipReader is a decoder with the reader that it reads from.
type gzipReader struct {
	src bytes.Reader
	z   gzip.Reader
}

var gzipReaders = sync.Pool{New: func() any { return new(gzipReader) }}

func (gzipCodec) Name() string { return "gzip" }

func (gzipCodec) Copies() bool { return true }

func (gzipCodec) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	r := gzipReaders.Get().(*gzipReader)
	defer gzipReaders.Put(r)
	defer r.src.Reset(nil) // keep no caller's memory alive
	r.src.Reset(src)
	if err := r.z.Reset(&r.src); err != nil {
		return nil, corrupt("gzip", err.Error())
	}
	out := room(dst, limit)
	end := len(out) + limit
	var spare [1]byte
	for {
		free := out[len(out):end]
		full := len(free) == 0
		if full { // all that is due is here: the end must come now, with its checksum
			free = spare[:]
		}
		k, err := r.z.Read(free)
		if full && k > 0 {
			return nil, overLimit("gzip", limit)
		}
		out = out[:len(out)+k]
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, corrupt("gzip", err.Error())
		}
	}
}

// EncodedSize is the bound for stored blocks, with header and trailer.
func (gzipCodec) EncodedSize(n int64) (int64, bool) { return n + n/8 + 64, false }
