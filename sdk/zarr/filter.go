package zarr

import (
	"context"

	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/fault"
)

// filter is a codec that computes with elements, of the numcodecs kind.
type filter struct {
	codec.Elements
	from, to element // decoded, encoded
}

// newFilter returns nil for a name that is no filter's.
func newFilter(e extension, from element) (*filter, error) {
	f, err := codec.NewElements(e.name, e.raw, numpyString(from.dtype))
	if fault.CodeOf(err) == fault.CodeUnsupported {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_, encoded := f.Types()
	t, err := numpyName("codecs", encoded, "")
	if err != nil {
		return nil, err
	}
	return &filter{f, from, newElement(t.dtype, make([]byte, t.dtype.Size()))}, nil
}

func (f *filter) encodedElement() element { return f.to }

// encodedShape is the shape itself, or one axis where the number of elements
// changes.
func (f *filter) encodedShape(shape []int64) []int64 {
	n, _ := product(shape...)
	size, _ := f.EncodedSize(n * f.from.size)
	if size == n*f.to.size {
		return shape
	}
	return []int64{size / f.to.size}
}

func (f *filter) decode(ctx context.Context, dst, src []byte, shape []int64) ([]byte, error) {
	n := sizeOf(shape, f.from.size)
	out, err := f.Decode(ctx, buffer(dst, n)[:0], src, int(n))
	if err != nil {
		return nil, err
	}
	if int64(len(out)) != n {
		return nil, fault.New(fault.ErrCorrupt, f.Name(), "", "decodes to "+itoa(int64(len(out)))+" bytes, want "+itoa(n))
	}
	return out, nil
}

func (f *filter) encode(data []byte, _ []int64) ([]byte, error) {
	e, ok := f.Elements.(codec.Encoder)
	if !ok {
		return nil, fault.New(fault.ErrUnsupported, "zarr", "", "writing through the filter "+f.Name())
	}
	return e.Encode(nil, data)
}
