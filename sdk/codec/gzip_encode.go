//go:build !gridhold_guest

package codec

import (
	"bytes"

	"github.com/klauspost/compress/gzip"
)

func (c gzipCodec) Encode(dst, src []byte) ([]byte, error) {
	to := bytes.NewBuffer(dst)
	w, err := gzip.NewWriterLevel(to, c.speed)
	if err != nil {
		return nil, c.invalid("level", err.Error())
	}
	return finish(to, w, src)
}
