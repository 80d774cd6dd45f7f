package codec

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/klauspost/compress/zlib"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
)

// zlibCodec is RFC 1950; its Adler-32 is verified.
type zlibCodec struct {
	named
	speed int
}

func newZlib(n named, configuration json.RawMessage) (Bytes, error) {
	l, err := n.level(configuration, 1, -1, 9)
	if err != nil {
		return nil, err
	}
	return zlibCodec{n, l}, nil
}

func (zlibCodec) Copies() bool { return true }

func (zlibCodec) Decode(_ context.Context, dst, src []byte, limit int) ([]byte, error) {
	return block.AppendZlib(dst, src, limit)
}

func (c zlibCodec) Encode(dst, src []byte) ([]byte, error) {
	to := bytes.NewBuffer(dst)
	w, err := zlib.NewWriterLevel(to, c.speed)
	if err != nil {
		return nil, c.invalid("level", err.Error())
	}
	return finish(to, w, src)
}

// finish writes src through w, which writes to a buffer.
func finish(to *bytes.Buffer, w io.WriteCloser, src []byte) ([]byte, error) {
	if _, err := w.Write(src); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return to.Bytes(), nil
}

// EncodedSize is the bound for stored blocks, with header and trailer.
func (zlibCodec) EncodedSize(n int64) (int64, bool) { return n + n/8 + 64, false }
