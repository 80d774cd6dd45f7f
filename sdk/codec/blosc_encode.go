//go:build !gridhold_guest

package codec

import (
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// Encode writes what the configuration asks for. In Zarr v2 it has no
// typesize: elements have one byte then.
func (c bloscCodec) Encode(dst, src []byte) ([]byte, error) {
	p, err := c.params()
	if err != nil {
		return nil, err
	}
	return blosc.Encode1(dst, src, p)
}

func (c bloscCodec) params() (p blosc.Params, err error) {
	m := rawjson.MembersOf(c.configuration)
	name := m.String("cname", "lz4")
	p.Level = int(m.Int("clevel", 0, 9, 5))
	p.TypeSize = int(m.Int("typesize", 0, 1<<30, 1))
	p.BlockSize = int(m.Int("blocksize", 0, blosc.MaxBlockSize, 0))
	shuffle := string(m.Raw("shuffle"))
	if err := c.configured(m); err != nil {
		return p, err
	}
	codec, ok := blosc.CodecNamed(name)
	if !ok || codec == blosc.Snappy {
		return p, fault.New(fault.ErrUnsupported, c.Name(), "cname", "writing "+strconv.Quote(name))
	}
	p.Codec = codec
	switch shuffle {
	case `0`, `"noshuffle"`:
	case ``, `1`, `"shuffle"`:
		p.Filters = []blosc.Filter{{ID: blosc.Shuffle}}
	case `2`, `"bitshuffle"`:
		p.Filters = []blosc.Filter{{ID: blosc.BitShuffle}}
	case `-1`: // by the size of an element
		p.Filters = []blosc.Filter{{ID: blosc.Shuffle}}
		if p.TypeSize <= 1 {
			p.Filters[0].ID = blosc.BitShuffle
		}
	default:
		return p, c.invalid("shuffle", shuffle)
	}
	return p, nil
}
