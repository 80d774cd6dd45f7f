package zarr

import (
	"context"

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
	if elem.variable {
		return nil, malformed(field, "bytes does not hold elements of variable length")
	}
	p := plain{elem: elem}
	raw, ok := e.config["endian"]
	if !ok {
		// zarr-python before 3.2 leaves the order of structs out, and stores
		// them little endian whatever it was asked for.
		if _, isStruct := elem.dtype.(structType); hasOrder(elem) && !isStruct {
			return nil, malformed(field+".bytes.endian", "missing, though "+elem.dtype.Name()+" has more than one byte")
		}
		return p, nil
	}
	switch string(raw) {
	case `"little"`:
	case `"big"`:
		p.swap = hasOrder(elem)
	default:
		return nil, malformed(field+".bytes.endian", brief(raw)+` is neither "little" nor "big"`)
	}
	return p, nil
}

// hasOrder reports whether an element has numbers of more than one byte.
func hasOrder(elem element) bool {
	probe := make([]byte, elem.size)
	for i := range probe {
		probe[i] = byte(i)
	}
	elem.dtype.Swap(probe)
	for i := range probe {
		if probe[i] != byte(i) {
			return true
		}
	}
	return false
}

func (p plain) decode(_ context.Context, _ *arena, dst, src []byte, shape []int64) ([]byte, error) {
	n, _ := p.encodedSize(shape)
	if int64(len(src)) != n {
		return nil, fault.New(fault.ErrCorrupt, "bytes", "", "decodes to "+itoa(int64(len(src)))+" bytes, want "+itoa(n))
	}
	if p.swap {
		out := buffer(dst, n)
		copy(out, src)
		p.elem.dtype.Swap(out)
		return out, nil
	}
	return src, nil
}

func (p plain) encodedSize(shape []int64) (int64, bool) { return sizeOf(shape, p.elem.size), true }

// sizeOf is the size of a chunk of a shape, whose product was checked when
// the metadata was parsed.
func sizeOf(shape []int64, item int64) int64 {
	for _, x := range shape {
		item *= x
	}
	return item
}
