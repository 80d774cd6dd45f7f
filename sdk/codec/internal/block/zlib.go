package block

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
)

// inflater is a zlib decoder with the reader that it reads from.
type inflater struct {
	src bytes.Reader
	z   io.ReadCloser // nil until the first header was right
}

var inflaters = sync.Pool{New: func() any { return new(inflater) }}

// AppendZlib appends the decoding of one zlib stream (RFC 1950) to dst; its
// Adler-32 is verified. Bytes after the stream are ignored, as zlib does.
func AppendZlib(dst, src []byte, limit int) ([]byte, error) {
	f := inflaters.Get().(*inflater)
	defer inflaters.Put(f)
	defer f.src.Reset(nil) // keep no caller's memory alive
	f.src.Reset(src)
	var err error
	if f.z == nil {
		f.z, err = zlib.NewReader(&f.src)
	} else {
		err = f.z.(zlib.Resetter).Reset(&f.src, nil)
	}
	if err != nil {
		f.z = nil
		return nil, Corrupt("zlib", err.Error())
	}
	return Append("zlib", dst, f.z, limit)
}
