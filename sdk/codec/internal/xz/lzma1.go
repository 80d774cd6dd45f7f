package xz

import (
	"encoding/binary"
	"math"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
)

// AppendAlone appends the decoding of an LZMA "alone" file to dst.
func AppendAlone(dst, src []byte, limit int) ([]byte, error) {
	if len(src) < 13 {
		return nil, corrupt("too short for a header")
	}
	size := binary.LittleEndian.Uint64(src[5:])
	return appendLZMA1(dst, src[13:], src[0], size, limit)
}

// AppendRaw1 appends the decoding of a raw LZMA stream, which a marker ends.
func AppendRaw1(dst, src []byte, lc, lp, pb, limit int) ([]byte, error) {
	if lc < 0 || lc > 8 || lp < 0 || lp > 4 || pb < 0 || pb > 4 {
		return nil, corrupt("lc, lp or pb out of range")
	}
	return appendLZMA1(dst, src, byte((pb*5+lp)*9+lc), math.MaxUint64, limit)
}

// appendLZMA1 decodes size bytes, or up to a marker if that is the largest
// number there is.
func appendLZMA1(dst, src []byte, props byte, size uint64, limit int) ([]byte, error) {
	marked := size == math.MaxUint64
	if !marked && size > uint64(limit) {
		return nil, block.OverLimit("lzma", limit)
	}
	return withDecoder(func(d *lzma) ([]byte, error) {
		if !d.props(props) || !d.r.start(src) {
			return nil, corrupt("the header is damaged")
		}
		d.reset()
		dst := block.Room(dst, limit)
		base := len(dst)
		due := limit
		if !marked {
			due = int(size)
		}
		end, ended, err := d.decode(dst[:base+due], base, base)
		if marked && (err == errPastEnd || err == nil && !ended && !d.marker(end-base)) {
			return nil, block.OverLimit("lzma", limit)
		}
		if err != nil {
			return nil, err
		}
		// Even a stated size may be followed by a marker.
		if end-base < due && !marked || !d.r.finished() && (marked || !d.marker(end-base) || !d.r.finished()) {
			return nil, corrupt("ends early")
		}
		return dst[:end], nil
	})
}

// marker reports whether the end is next, at bytes into the output.
func (d *lzma) marker(at int) bool {
	posState := uint32(at) & (1<<d.pb - 1)
	if d.r.bit(&d.isMatch[d.state][posState]) == 0 {
		return false
	}
	_, end := d.match(posState)
	return end
}
