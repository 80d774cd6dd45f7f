package scratch

import (
	"context"
	"encoding/binary"
	"math"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
)

// ReadPatches fills dst with patches of one image, or of one volume, one after
// another: each of the shape extent, around one of the centres. A centre has a
// coordinate for each axis, slowest first, and may lie outside of the image;
// the patch begins at centre - extent/2. What of a patch lies outside has the
// value fill, turned into the loader's type as image.Cast does.
//
// The image is read once, whole. dst has room for exactly as many patches as
// there are centres: ErrInvalid otherwise, and for centres or an extent of
// other axes than the image's. ErrLimit for an image of more than 256 GiB.
func (l *Loader) ReadPatches(ctx context.Context, dst []byte, at image.ImageLocation, extent []int64, centres [][]int64, fill float64) error {
	return l.with(ctx, at.Key, func(r image.Reader) error {
		d := r.Describe()
		first, count, err := d.Images(at)
		if err != nil {
			return err
		}
		if err := l.castable(at, d); err != nil {
			return err
		}
		p := &patches{shape: d.ImageShape, extent: extent, from: d.Type, to: l.typeOf(d)}
		if at.IsWhole() {
			p.shape = d.Shape
		}
		if err := p.check(at, dst, centres); err != nil {
			return err
		}
		if p.outside, err = fillPixel(fill, p.to); err != nil {
			return err
		}
		if d.ImageBytes() > mostBatch/max(count, 1) {
			return fault.New(fault.ErrLimit, "loader", at.String(), "too large to be read whole")
		}
		pixels := make([]byte, count*d.ImageBytes())
		if err := r.ReadImages(ctx, pixels, first); err != nil {
			return err
		}
		for i, centre := range centres {
			n := len(dst) / len(centres)
			patch := dst[i*n : (i+1)*n]
			for at := 0; at < len(patch); at += len(p.outside) {
				copy(patch[at:], p.outside)
			}
			if err := p.cut(patch, pixels, 0, centre); err != nil {
				return err
			}
		}
		return nil
	})
}

// fillPixel is one pixel of a value.
func fillPixel(v float64, t image.Type) ([]byte, error) {
	b := binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
	from := image.Float64
	if t.IsComplex() {
		b, from = append(b, make([]byte, 8)...), image.Complex128
	}
	pixel := make([]byte, t.Size())
	return pixel, image.Cast(pixel, t, b, from)
}

// patches cuts patches out of one image.
type patches struct {
	shape, extent []int64
	from, to      image.Type
	outside       []byte // a pixel
}

func (p *patches) check(at image.ImageLocation, dst []byte, centres [][]int64) error {
	bad := func(why string) error { return fault.New(fault.ErrInvalid, "loader", at.String(), why) }
	size := int64(p.to.Size())
	if len(p.extent) != len(p.shape) {
		return bad("patches of " + strconv.Itoa(len(p.extent)) + " axes from an image of " + strconv.Itoa(len(p.shape)))
	}
	for _, n := range p.extent {
		if n < 1 || size > math.MaxInt32/n {
			return bad("patches of no size, or of more than 2 GiB")
		}
		size *= n
	}
	for _, c := range centres {
		if len(c) != len(p.shape) {
			return bad("a centre of " + strconv.Itoa(len(c)) + " coordinates")
		}
	}
	if int64(len(dst)) != size*int64(len(centres)) {
		return bad("a destination that is not the patches long")
	}
	return nil
}

// cut copies what of a patch lies in the image, from axis on.
func (p *patches) cut(patch, pixels []byte, axis int, centre []int64) error {
	begin := centre[axis] - p.extent[axis]/2 // of the patch, in the image
	if begin > centre[axis] || begin >= p.shape[axis] || begin <= -p.extent[axis] {
		return nil // all of it lies outside; the first says so of sums that wrap
	}
	lo, hi := max(begin, 0), min(begin+p.extent[axis], p.shape[axis])
	in, out := int64(len(pixels))/p.shape[axis], int64(len(patch))/p.extent[axis]
	if axis == len(p.shape)-1 {
		return image.Cast(patch[(lo-begin)*out:(hi-begin)*out], p.to, pixels[lo*in:hi*in], p.from)
	}
	for i := lo; i < hi; i++ {
		if err := p.cut(patch[(i-begin)*out:(i-begin+1)*out], pixels[i*in:(i+1)*in], axis+1, centre); err != nil {
			return err
		}
	}
	return nil
}
