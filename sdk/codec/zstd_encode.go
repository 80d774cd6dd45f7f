//go:build !gridhold_guest

package codec

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// zstdEncoders are those that are not in use, by checksum and level.
var zstdEncoders [2][zstd.SpeedBestCompression + 1]sync.Pool

func (c zstdCodec) Encode(dst, src []byte) ([]byte, error) {
	speed := zstd.EncoderLevelFromZstd(c.level)
	pool := &zstdEncoders[truth(c.checksum)][speed]
	e, _ := pool.Get().(*zstd.Encoder)
	if e == nil {
		var err error
		e, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(speed), zstd.WithEncoderCRC(c.checksum), zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, c.invalid("level", err.Error())
		}
	}
	defer pool.Put(e)
	return e.EncodeAll(src, dst), nil
}
