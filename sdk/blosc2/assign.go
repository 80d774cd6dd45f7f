package blosc2

import (
	"context"
	"slices"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
)

// SetSlice replaces the items that the spans select, one span an axis, with
// items: C order, their bytes as the array stores them. No spans at all are
// the whole array. Chunks of which only a part is replaced are decoded. One
// commit; see SChunk. ErrInvalid for another number of items, ErrOutOfRange.
func (a *NDArray) SetSlice(ctx context.Context, spans []Span, items []byte) error {
	return a.s.f.change(ctx, func(d *draft) error {
		g := gather{view: d.f.view, o: d.f.o, spans: spans}
		if spans == nil {
			for _, n := range g.shape.Shape {
				g.spans = append(g.spans, Span{0, n, 1})
			}
		}
		size, err := g.size()
		if err != nil {
			return err
		}
		if size != int64(len(items)) {
			return fault.New(fault.ErrInvalid, "slice", "", strconv.Itoa(len(items))+" bytes given, "+strconv.FormatInt(size, 10)+" selected")
		}
		if size == 0 {
			return nil
		}
		axes := make([][]cut, len(g.spans))
		for i, s := range g.spans {
			axes[i] = s.cuts(0, g.count[i], 0, g.shape.Chunks[i])
		}
		g.dst = items
		grid := g.shape.grid()
		return each(axes, func(at []cut) error { return d.assign(ctx, &g, int(number(at, grid)), at) })
	})
}

// assign replaces a part of a chunk by the items of g.
func (d *draft) assign(ctx context.Context, g *gather, i int, in []cut) error {
	chunk := make([]byte, d.ChunkSize)
	if !g.covers(in) {
		var err error
		if chunk, err = g.decoded(ctx, int64(i), chunk[:0], g.o); err != nil {
			return err
		}
	}
	axes := make([][]cut, len(in))
	for k, c := range in {
		axes[k] = g.spans[k].cuts(c.from, c.to, c.cell*g.shape.Chunks[k], g.shape.Blocks[k])
	}
	grid := g.shape.blockGrid()
	blocks, _ := product(g.shape.Blocks)
	err := each(axes, func(at []cut) error {
		k, outside, inside := g.box(at)
		for axis := range k.steps {
			s := &k.steps[axis]
			s.to, s.from = s.from, s.to
		}
		k.copy(chunk[number(at, grid)*blocks*g.dtype.size:], g.dst, inside, outside, 0)
		return nil
	})
	if err != nil {
		return err
	}
	return d.update(ctx, i, chunk)
}

// covers reports whether all items of a chunk that are the array's are
// selected.
func (g *gather) covers(in []cut) bool {
	for k, c := range in {
		start := c.cell * g.shape.Chunks[k]
		if c.to-c.from != min(g.shape.Chunks[k], g.shape.Shape[k]-start) {
			return false
		}
	}
	return true
}

// Resize gives the array another shape. What it grows by is zero; chunks that
// it shrinks by are dropped. ErrInvalid for another number of axes, negative
// sides, and arrays that were made without a chunk shape.
func (a *NDArray) Resize(ctx context.Context, shape []int64) error {
	return a.s.f.change(ctx, func(d *draft) error {
		old := *d.f.view.shape
		next := old
		next.Shape = slices.Clone(shape)
		if len(shape) != len(old.Shape) {
			return fault.New(fault.ErrInvalid, "resize", "", strconv.Itoa(len(shape))+" axes given, the array has "+strconv.Itoa(len(old.Shape)))
		}
		for i, n := range shape {
			if n < 0 || n > 0 && (old.Chunks[i] == 0 || old.Blocks[i] == 0) {
				return fault.New(fault.ErrInvalid, "resize", "", "a negative side, or no chunks along it")
			}
		}
		cells, ok := product(next.grid())
		ext, _ := product(next.extent())
		if !ok || cells > maxChunks || next.check() != nil {
			return overLimit("more chunks than a frame has")
		}
		if d.TypeSize == 0 || ext == 0 && cells > 0 {
			return fault.New(fault.ErrInvalid, "resize", "", "the array has no chunk shape")
		}
		if err := d.regrid(ctx, old.grid(), next.grid(), cells); err != nil {
			return err
		}
		if cells > 0 {
			d.ChunkSize = int(ext) * d.TypeSize
		}
		d.Size = cells * ext * int64(d.TypeSize)
		layer := shapeLayer
		if _, ok := find(d.meta, layer); !ok {
			return fault.New(fault.ErrUnsupported, "resize", "", "an array of before Blosc2 had arrays")
		}
		return d.setMeta(layer, next.append(nil))
	})
}

// regrid keeps the chunks that both grids have, and makes the others zero.
func (d *draft) regrid(ctx context.Context, old, next []int64, cells int64) error {
	entries := make([]int64, cells)
	kept := make([]bool, len(d.entries))
	at := make([]int64, len(next))
	for i := range entries {
		entries[i] = Entry{Special: blosc.Zeros}.value()
		before := int64(0)
		for axis, k := range at {
			if before >= 0 && k < old[axis] {
				before = before*old[axis] + k
			} else {
				before = -1
			}
		}
		if before >= 0 && before < int64(len(kept)) {
			entries[i], kept[before] = d.entries[before], true
		}
		for axis := len(at) - 1; axis >= 0; axis-- {
			if at[axis]++; at[axis] < next[axis] {
				break
			}
			at[axis] = 0
		}
	}
	for i, k := range kept {
		if !k {
			if err := d.drop(ctx, i); err != nil {
				return err
			}
		}
	}
	d.entries, d.indexed = entries, true
	return nil
}
