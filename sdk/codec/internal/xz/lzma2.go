package xz

import (
	"encoding/binary"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
)

// AppendRaw2 appends the decoding of a raw LZMA2 stream to dst.
func AppendRaw2(dst, src []byte, limit int) ([]byte, error) {
	return withDecoder(func(d *lzma) ([]byte, error) {
		dst := block.Room(dst, limit)
		out, _, err := d.chunks(dst, src, limit)
		return out, err
	})
}

// chunks decodes the chunks of an LZMA2 stream into the capacity of out, and
// returns how much of src they took with the byte 0 that ends them.
func (d *lzma) chunks(out, src []byte, limit int) (decoded []byte, taken int, err error) {
	base, last := len(out), len(out)+limit
	p := 0
	dictionary, properties, state := false, false, false // which of them have been set
	for {
		if p >= len(src) {
			return nil, 0, corrupt("ends without its last chunk")
		}
		control := src[p]
		p++
		if control == 0 {
			return out, p, nil
		}
		if control == 1 || control >= 0xe0 {
			base, dictionary = len(out), true
		}
		if !dictionary || control > 2 && control < 0x80 || len(src)-p < 2 {
			return nil, 0, corrupt("a chunk's header is damaged")
		}
		size := int(binary.BigEndian.Uint16(src[p:])) + 1
		p += 2
		if control >= 0x80 {
			size += int(control&0x1f) << 16
		}
		at := len(out)
		if size > last-at {
			return nil, 0, block.OverLimit("lzma", limit)
		}
		out = out[:at+size]
		if control < 0x80 {
			if size > len(src)-p {
				return nil, 0, corrupt("ends within a chunk")
			}
			p += copy(out[at:], src[p:p+size])
			continue
		}
		if len(src)-p < 2 {
			return nil, 0, corrupt("a chunk's header is damaged")
		}
		packed := int(binary.BigEndian.Uint16(src[p:])) + 1
		p += 2
		if control >= 0xc0 {
			if p >= len(src) || !d.props(src[p]) || d.lc+d.lp > 4 {
				return nil, 0, corrupt("a chunk's properties are damaged")
			}
			p++
			properties = true
		}
		if !properties || packed > len(src)-p {
			return nil, 0, corrupt("a chunk's header is damaged")
		}
		if control >= 0xa0 {
			d.reset()
			state = true
		}
		if !state || !d.r.start(src[p:p+packed]) {
			return nil, 0, corrupt("a chunk's data is damaged")
		}
		end, marker, err := d.decode(out, base, at)
		if err != nil {
			return nil, 0, err
		}
		if marker || end != len(out) || !d.r.finished() || d.r.at != packed {
			return nil, 0, corrupt("a chunk ends early")
		}
		p += packed
	}
}
