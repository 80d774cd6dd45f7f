//go:build !gridhold_guest

package block

import (
	"errors"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A decoder of the library serves one DecodeAll at a time without waiting,
// so each caller takes one for itself; the pool's per-processor lists keep
// them warm.
var zstdDecoders = sync.Pool{New: func() any {
	// WithDecodeAllCapLimit: never more than the capacity that is handed in.
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
}}

// AppendZstd appends the decoding of src to dst. Several frames and skippable
// frames are accepted, the content size may be absent, checksums are verified
// (RFC 8878).
func AppendZstd(dst, src []byte, limit int) ([]byte, error) {
	return decodeAll(&zstdDecoders, dst, src, limit)
}

func decodeAll(decoders *sync.Pool, dst, src []byte, limit int) ([]byte, error) {
	dst = Room(dst, limit)
	n := len(dst)
	d := decoders.Get().(*zstd.Decoder)
	out, err := d.DecodeAll(src, dst[:n:n+limit])
	decoders.Put(d)
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return nil, OverLimit("zstd", limit)
	case err != nil:
		return nil, Corrupt("zstd", err.Error())
	}
	return out, nil
}

// ZstdDictionary decodes frames that refer to a dictionary. Safe for
// concurrent use.
type ZstdDictionary struct{ decoders sync.Pool }

// NewZstdDictionary reads a dictionary as zstd trains it; it keeps b.
// ErrCorrupt if it is damaged.
func NewZstdDictionary(b []byte) (*ZstdDictionary, error) {
	decoder := func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderDicts(b))
	}
	first, err := decoder()
	if err != nil {
		return nil, Corrupt("zstd", "the dictionary: "+err.Error())
	}
	d := &ZstdDictionary{sync.Pool{New: func() any {
		d, err := decoder()
		if err != nil {
			panic(err) // it was right before
		}
		return d
	}}}
	d.decoders.Put(first)
	return d, nil
}

// Append is AppendZstd with the dictionary.
func (z *ZstdDictionary) Append(dst, src []byte, limit int) ([]byte, error) {
	return decodeAll(&z.decoders, dst, src, limit)
}
