package blosc2

import (
	"context"
	"slices"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Squeeze takes axes of one item out of the array; none given: all of those.
// ErrInvalid for others, and where chunks are longer than one item along them.
//
// The frame is written anew with the chunks that it has, and takes the place
// of the old one in one step, as by Compact. Other handles that refresh get
// ErrStale.
func (a *NDArray) Squeeze(ctx context.Context, axes ...int) error {
	return a.reshape(ctx, func(s *Shape) error {
		if len(axes) == 0 {
			for i, n := range s.Shape {
				if n == 1 {
					axes = append(axes, i)
				}
			}
		}
		axes = slices.Clone(axes)
		slices.Sort(axes)
		for _, i := range slices.Backward(slices.Compact(axes)) {
			if i < 0 || i >= len(s.Shape) || s.Shape[i] != 1 || s.Chunks[i] != 1 || s.Blocks[i] != 1 {
				return fault.New(fault.ErrInvalid, "squeeze", "", "not an axis of one item, in chunks of one")
			}
			s.Shape, s.Chunks, s.Blocks = slices.Delete(s.Shape, i, i+1), slices.Delete(s.Chunks, i, i+1), slices.Delete(s.Blocks, i, i+1)
		}
		return nil
	})
}

// ExpandAxes puts axes of one item into the array: at those places of the axes
// that there are afterwards. ErrInvalid. It is done as Squeeze is.
func (a *NDArray) ExpandAxes(ctx context.Context, axes ...int) error {
	return a.reshape(ctx, func(s *Shape) error {
		axes = slices.Clone(axes)
		slices.Sort(axes)
		for k, i := range axes {
			if i < 0 || i > len(s.Shape) || k > 0 && axes[k-1] == i || len(s.Shape) >= maxAxes {
				return fault.New(fault.ErrInvalid, "expand axes", "", "no place for an axis, or too many of them")
			}
			s.Shape, s.Chunks, s.Blocks = slices.Insert(s.Shape, i, 1), slices.Insert(s.Chunks, i, 1), slices.Insert(s.Blocks, i, 1)
		}
		return nil
	})
}

// reshape puts other axes over the same chunks.
func (a *NDArray) reshape(ctx context.Context, change func(s *Shape) error) error {
	return a.s.f.renew(ctx, func(d *draft) error {
		if _, ok := find(d.meta, shapeLayer); !ok {
			return fault.New(fault.ErrUnsupported, "axes", "", "an array of before Blosc2 had arrays")
		}
		shape := d.f.view.shape.clone()
		if err := change(&shape); err != nil {
			return err
		}
		return d.setMeta(shapeLayer, shape.append(nil))
	})
}

func (s *Shape) clone() Shape {
	c := *s
	c.Shape, c.Chunks, c.Blocks = slices.Clone(s.Shape), slices.Clone(s.Chunks), slices.Clone(s.Blocks)
	return c
}
