package blosc

import (
	"github.com/gridhold/gridhold/sdk/codec/internal/block"
	"github.com/gridhold/gridhold/sdk/codec/internal/zstd"
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
		return block.AppendZlibPacked(dst, b, e.p.Level)
	}
	if e.dict != nil {
		return e.dict.zstd(dst, b)
	}
	return zstd.Encode(dst, b, e.effort)
}
