//go:build gridhold_guest

package block

import (
	"errors"

	"github.com/gridhold/gridhold/sdk/codec/internal/zstd"
	"github.com/gridhold/gridhold/sdk/fault"
)

// AppendZstd appends the decoding of src to dst. Several frames and skippable
// frames are accepted, the content size may be absent, checksums are verified
// (RFC 8878).
func AppendZstd(dst, src []byte, limit int) ([]byte, error) {
	dst = Room(dst, limit)
	end, err := zstd.Decode(dst[:len(dst)+limit], len(dst), src)
	switch {
	case errors.Is(err, fault.ErrLimit):
		return nil, OverLimit("zstd", limit)
	case err != nil:
		return nil, err
	}
	return dst[:end], nil
}
