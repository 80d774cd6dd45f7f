package zarr

import (
	"context"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// plain is the codec "bytes": the elements one after the other, in C order.
//
// Zarr v3 codec "bytes": https://zarr-specs.readthedocs.io/en/latest/v3/codecs/bytes/
type plain struct {
	elem element
	swap bool // stored big endian
}

func parsePlain(field string, e extension, elem element) (serializer, error) {
	if err := e.only(field, "endian"); err != nil {
		return nil, err
	}
	p := plain{elem: elem}
	raw, ok := e.config["endian"]
	if !ok {
		if elem.dtype.Size() > 1 {
			return nil, malformed(field+".bytes.endian", "missing, though "+elem.dtype.Name()+" has more than one byte")
		}
		return p, nil
	}
	switch string(raw) {
	case `"little"`:
	case `"big"`:
		p.swap = elem.dtype.Size() > 1
	default:
		return nil, malformed(field+".bytes.endian", brief(raw)+` is neither "little" nor "big"`)
	}
	return p, nil
}

func (p plain) decode(_ context.Context, dst, src []byte, shape []int64) ([]byte, error) {
	n, _ := p.encodedSize(shape)
	if int64(len(src)) != n {
		return nil, fault.New(fault.ErrCorrupt, "bytes", "", "decodes to "+strconv.Itoa(len(src))+" bytes, want "+itoa(n))
	}
	if p.swap {
		out := buffer(dst, n)
		copy(out, src)
		p.elem.dtype.Swap(out)
		return out, nil
	}
	return src, nil
}

func (p plain) encodedSize(shape []int64) (int64, bool) {
	n := p.elem.dtype.Size()
	for _, x := range shape {
		n *= x
	}
	return n, true
}
