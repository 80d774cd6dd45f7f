//go:build !gridhold_guest

package codec

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/zlib"
)

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
