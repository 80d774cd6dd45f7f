//go:build !gridhold_guest

package blosc

import (
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
)

// pack appends b, packed with the chunk's codec; as many bytes as b has, or
// more, say that it did not get smaller.
func (e *encoder) pack(dst, b []byte, s *scratch) []byte {
	switch e.p.Codec {
	case BloscLZ:
		return appendBloscLZ(dst, b, e.p.Level, e.header == HeaderSize)
	case LZ4, LZ4HC:
		window, start := b, 0
		if e.dict != nil {
			window = append(append(s.window[:0], e.dict.bytes...), b...)
			s.window, start = window, len(e.dict.bytes)
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
	return appendZstd(dst, b, e.speed)
}

// zlibLevels are the library's levels whose size is that of zlib's.
var zlibLevels = [10]int{1: 1, 2: 6, 3: 7, 4: 7, 5: 7, 6: 8, 7: 8, 8: 9, 9: 9}

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
	o = append(o, zstd.WithEncoderLevel(level), zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(1),
		zstd.WithAllLitEntropyCompression(true)) // shuffled numbers have few matches, and few different bytes
	return zstd.NewWriter(nil, o...)
}

const (
	zstdSample = 2       // of how many bytes one is tried to choose a speed
	zstdLeast  = 4 << 10 // bytes of a stream that are tried
	zstdWorth  = 103     // percent that the fast one may be of the slow one
	zstdSplit  = 106     // where blocks are split, and the slow one is slowest
)

// choose sets the library's speed that makes streams as small as zstd does at
// twice the level less one, which is what the C library uses. From level 3 to
// 6 the library has none: the slow one where it pays on a part of block 0,
// which went through the filters.
func (e *encoder) choose(b []byte, streams int) {
	if e.p.Codec != Zstd {
		return
	}
	e.speed = zstd.SpeedBetterCompression
	switch {
	case e.p.Level == 1 && streams > 1:
		e.speed = zstd.SpeedDefault
		return
	case e.p.Level <= 2:
		return
	case e.p.Level > 6:
		e.speed = zstd.SpeedBestCompression
		return
	}
	better, best := 0, 0
	n := len(b) / streams
	for k := range streams {
		sample := b[k*n:][:min(n, max(n/zstdSample, zstdLeast))]
		if len(sample) > 0 && !run(sample) {
			better += len(appendZstd(nil, sample, zstd.SpeedBetterCompression))
			best += len(appendZstd(nil, sample, zstd.SpeedBestCompression))
		}
	}
	worth := zstdWorth
	if streams > 1 {
		worth = zstdSplit
	}
	if better*100 > best*worth {
		e.speed = zstd.SpeedBestCompression
	}
}
