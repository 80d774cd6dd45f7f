package blosc2

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
)

// Resize gives the array another shape. What it grows by is zero, also where
// chunks hold what was there before it shrank; chunks that it shrinks by are
// dropped. ErrInvalid for another number of axes, negative sides, and arrays
// that were made without a chunk shape.
func (a *NDArray) Resize(ctx context.Context, shape []int64) error {
	return a.s.f.change(ctx, func(d *draft) error {
		old := *d.f.view.shape
		next, err := d.resize(ctx, shape)
		if err != nil {
			return err
		}
		return d.clearPast(ctx, &old, d.regridded(&next))
	})
}

// Append adds items at the end of an axis: whole slices of the array across
// it, in C order, their bytes as the array stores them. One commit. ErrInvalid
// for a part of a slice, and otherwise as Resize and SetSlice.
func (a *NDArray) Append(ctx context.Context, axis int, items []byte) error {
	return a.s.f.change(ctx, func(d *draft) error {
		v := d.f.view
		if axis < 0 || axis >= len(v.shape.Shape) {
			return fault.New(fault.ErrInvalid, "append", "", "no axis "+strconv.Itoa(axis))
		}
		slice := v.shape.all()
		slice[axis] = Span{0, 1, 1}
		one := v.dtype.size
		for _, s := range slice {
			one *= s.Len()
		}
		if one == 0 || int64(len(items))%one != 0 {
			return wrongSize(len(items), one)
		}
		shape := slices.Clone(v.shape.Shape)
		start := shape[axis]
		shape[axis] += int64(len(items)) / one
		next, err := d.resize(ctx, shape)
		if err != nil {
			return err
		}
		slice[axis] = Span{start, shape[axis], 1}
		return d.assignBox(ctx, &gather{view: d.regridded(&next), o: d.f.o, spans: slice}, items)
	})
}

// resize makes the grid of chunks that of another shape.
func (d *draft) resize(ctx context.Context, shape []int64) (next Shape, err error) {
	old := *d.f.view.shape
	next = old
	next.Shape = slices.Clone(shape)
	if len(shape) != len(old.Shape) {
		return next, fault.New(fault.ErrInvalid, "resize", "", strconv.Itoa(len(shape))+" axes given, the array has "+strconv.Itoa(len(old.Shape)))
	}
	for i, n := range shape {
		if n < 0 || n > 0 && (old.Chunks[i] == 0 || old.Blocks[i] == 0) {
			return next, fault.New(fault.ErrInvalid, "resize", "", "a negative side, or no chunks along it")
		}
	}
	cells, ok := product(next.grid())
	ext, _ := product(next.extent())
	if !ok || cells > maxChunks || next.check() != nil {
		return next, overLimit("more chunks than a frame has")
	}
	if d.TypeSize == 0 || ext == 0 && cells > 0 {
		return next, fault.New(fault.ErrInvalid, "resize", "", "the array has no chunk shape")
	}
	if err := d.regrid(ctx, old.grid(), next.grid(), cells); err != nil {
		return next, err
	}
	if cells > 0 {
		d.ChunkSize = int(ext) * d.TypeSize
	}
	d.Size = cells * ext * int64(d.TypeSize)
	if _, ok := find(d.meta, shapeLayer); !ok {
		return next, fault.New(fault.ErrUnsupported, "resize", "", "an array of before Blosc2 had arrays")
	}
	// Of an array without chunks nobody has looked whether the header agrees.
	if err := next.fits(&d.Header, int64(len(d.entries))); err != nil {
		return next, err
	}
	return next, d.setMeta(shapeLayer, next.append(nil))
}

// regridded is the state before with its chunks in the places that they have
// in the draft, to be read until that is published.
func (d *draft) regridded(shape *Shape) *view {
	v := d.f.view
	plain := sized(&d.f.spare.index, 8*len(d.entries))
	for i, e := range d.entries {
		binary.LittleEndian.PutUint64(plain[8*i:], uint64(e))
	}
	count := int64(len(d.entries))
	return &view{
		Header: d.Header, raw: v.raw, tail: v.tail, meta: v.meta, vlmeta: v.vlmeta, chunks: count,
		index: &index{count: count, plain: plain, block: -1}, first: v.first, shape: shape, dtype: v.dtype, file: v.file, where: v.where,
	}
}

// clearPast clears what chunks hold past the old shape where the new one, that
// of v, reaches farther: items that were cut off once.
func (d *draft) clearPast(ctx context.Context, old *Shape, v *view) error {
	axes := make([][]cut, len(old.Shape))
	for i, n := range old.Shape {
		kept := Span{0, min(n, v.shape.Shape[i]), 1}
		axes[i] = kept.cuts(0, kept.Len(), 0, old.Chunks[i])
	}
	grid := v.shape.grid()
	return each(axes, func(in []cut) error {
		grows := false
		g := gather{view: v, o: d.f.o, spans: make([]Span, len(in))}
		for i, c := range in {
			end := (c.cell + 1) * old.Chunks[i]
			grows = grows || min(end, v.shape.Shape[i]) > c.to
			g.spans[i] = Span{c.from, c.to, 1}
		}
		at := int(number(in, grid))
		if !grows || d.entries[at] < 0 && d.entries[at] == (Entry{Special: blosc.Zeros}).value() {
			return nil
		}
		before, err := v.decoded(ctx, int64(at), nil, d.f.o)
		if err != nil {
			return err
		}
		size, err := g.size()
		if err != nil {
			return err
		}
		g.dst = make([]byte, size)
		if err := g.all(ctx); err != nil {
			return err
		}
		own := make([]cut, len(in))
		for i, c := range in {
			own[i] = cut{cell: c.cell, to: c.to - c.from}
		}
		after := make([]byte, len(before))
		g.place(after, own)
		if bytes.Equal(before, after) {
			return nil
		}
		return d.update(ctx, at, after)
	})
}

// regrid keeps the chunks that both grids have, and makes the others zero.
func (d *draft) regrid(ctx context.Context, old, next []int64, cells int64) error {
	s := &d.f.spare
	entries, kept := sized(&s.moved, int(cells)), sized(&s.kept, len(d.entries))
	clear(kept)
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
	s.entries, s.moved = entries, s.entries
	return nil
}
