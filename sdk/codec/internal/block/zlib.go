package block

import (
	"errors"

	"github.com/gridhold/gridhold/sdk/codec/internal/inflate"
	"github.com/gridhold/gridhold/sdk/fault"
)

// AppendZlib appends the decoding of one zlib stream (RFC 1950) to dst; its
// Adler-32 is verified. Bytes after the stream are ignored, as zlib does.
func AppendZlib(dst, src []byte, limit int) ([]byte, error) {
	return within("zlib", inflate.Zlib, dst, src, limit)
}

// AppendGzip appends the decoding of one or more members of gzip (RFC 1952)
// to dst; CRC-32 and size of each are verified. Nothing may follow the last.
func AppendGzip(dst, src []byte, limit int) ([]byte, error) {
	return within("gzip", inflate.Gzip, dst, src, limit)
}

// within appends what decode gives, at most limit bytes.
func within(name string, decode func(dst []byte, at int, src []byte) (int, error), dst, src []byte, limit int) ([]byte, error) {
	dst = Room(dst, limit)
	end, err := decode(dst[:len(dst)+limit], len(dst), src)
	switch {
	case errors.Is(err, fault.ErrLimit):
		return nil, OverLimit(name, limit)
	case err != nil:
		return nil, err
	}
	return dst[:end], nil
}
