package blosc

import (
	"github.com/gridhold/gridhold/sdk/codec/internal/block"
	"github.com/gridhold/gridhold/sdk/codec/internal/zstd"
)

// pack appends b, packed with the chunk's codec, or as it is where it does not
// get smaller.
func (e *encoder) pack(dst, b []byte, s *scratch) []byte {
	head := len(dst)
	out, smaller := dst, false
	if e.p.Codec == BloscLZ {
		out, smaller = appendBloscLZ(dst, b, e.p.Level, e.header == HeaderSize)
	} else {
		out = e.packBy(dst, b, s)
		smaller = len(out)-head < len(b)
	}
	if !smaller {
		return append(out[:head], b...)
	}
	return out
}

// packBy is pack for what it is to be packed in any case.
func (e *encoder) packBy(dst, b []byte, s *scratch) []byte {
	switch e.p.Codec {
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
