//go:build gridhold_guest

package block

import "github.com/gridhold/gridhold/sdk/codec/internal/zstd"

// AppendZstd appends the decoding of src to dst. Several frames and skippable
// frames are accepted, the content size may be absent, checksums are verified
// (RFC 8878).
func AppendZstd(dst, src []byte, limit int) ([]byte, error) {
	return within("zstd", zstd.Decode, dst, src, limit)
}

// ZstdDictionary decodes frames that refer to a dictionary. Safe for
// concurrent use.
type ZstdDictionary struct{ dict *zstd.Dictionary }

// NewZstdDictionary reads a dictionary as zstd trains it; it keeps b.
// ErrCorrupt if it is damaged.
func NewZstdDictionary(b []byte) (*ZstdDictionary, error) {
	d, err := zstd.ParseDictionary(b)
	return &ZstdDictionary{d}, err
}

// Append is AppendZstd with the dictionary.
func (z *ZstdDictionary) Append(dst, src []byte, limit int) ([]byte, error) {
	return within("zstd", z.dict.Decode, dst, src, limit)
}
