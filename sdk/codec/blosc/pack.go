package blosc

import (
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
)

// pack appends b, packed with the chunk's codec; as many bytes as b has, or
// more, say that it did not get smaller.
func (e *encoder) pack(dst, b []byte) []byte {
	switch e.p.Codec {
	case BloscLZ:
		return appendBloscLZ(dst, b, e.p.Level)
	case LZ4, LZ4HC:
		window, start := b, 0
		if e.dict != nil {
			window = append(append(e.s.window[:0], e.dict.bytes...), b...)
			e.s.window, start = window, len(e.dict.bytes)
		}
		if e.p.Codec == LZ4 {
			return block.AppendLZ4Fast(dst, window, start, 10-e.p.Level)
		}
		return block.AppendLZ4HC(dst, window, start, e.p.Level)
	case Zlib:
		return block.AppendZlibPacked(dst, b, zlibLevels[e.p.Level])
	}
	if e.dict != nil {
		return e.dict.zstd.EncodeAll(b, dst)
	}
	return appendZstd(dst, b, zstdLevels[e.p.Level])
}

// zlibLevels are the library's levels whose size is that of zlib's.
var zlibLevels = [10]int{1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8, 9: 9}

// zstdLevels are the library's speeds whose size is that of zstd's at twice
// the level less one, which the C library uses.
var zstdLevels = [10]zstd.EncoderLevel{
	1: zstd.SpeedFastest, 2: zstd.SpeedDefault, 3: zstd.SpeedBetterCompression, 4: zstd.SpeedBetterCompression,
	5: zstd.SpeedBestCompression, 6: zstd.SpeedBestCompression, 7: zstd.SpeedBestCompression,
	8: zstd.SpeedBestCompression, 9: zstd.SpeedBestCompression,
}

// zstdEncoders are those that are not in use, by level.
var zstdEncoders [zstd.SpeedBestCompression + 1]sync.Pool

func appendZstd(dst, b []byte, level zstd.EncoderLevel) []byte {
	e, _ := zstdEncoders[level].Get().(*zstd.Encoder)
	if e == nil {
		var err error
		if e, err = newZstdEncoder(level); err != nil {
			panic(err) // the options are constants
		}
	}
	defer zstdEncoders[level].Put(e)
	return e.EncodeAll(b, dst)
}

func newZstdEncoder(level zstd.EncoderLevel, o ...zstd.EOption) (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, append(o, zstd.WithEncoderLevel(level), zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(1))...)
}
