package blosc2

import (
	"context"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// CreateFull is CreateArray with another item than zero everywhere: its bytes
// as the array stores them. Chunks take some bytes each, whatever their size.
func CreateFull(ctx context.Context, fs storage.FS, name string, shape Shape, item []byte, spec Spec, o Options) (*NDArray, error) {
	return createWith(ctx, fs, name, shape, spec, o, func(ctx context.Context, a *NDArray) error {
		return a.s.f.change(ctx, func(d *draft) error { return d.full(ctx, item) })
	})
}

// CreateFrom is CreateArray with all its items, in C order, their bytes as the
// array stores them.
func CreateFrom(ctx context.Context, fs storage.FS, name string, shape Shape, items []byte, spec Spec, o Options) (*NDArray, error) {
	return createWith(ctx, fs, name, shape, spec, o, func(ctx context.Context, a *NDArray) error {
		return a.SetSlice(ctx, nil, items)
	})
}

// createWith is CreateArray; fill comes before what the spec fills with.
func createWith(ctx context.Context, fs storage.FS, name string, shape Shape, spec Spec, o Options, fill func(context.Context, *NDArray) error) (*NDArray, error) {
	more := spec.Fill
	spec.Fill = func(ctx context.Context, c Container) error {
		err := fill(ctx, c.(*NDArray))
		if err == nil && more != nil {
			err = more(ctx, c)
		}
		return err
	}
	return CreateArray(ctx, fs, name, shape, spec, o)
}

// full makes every chunk of an array one of equal items.
func (d *draft) full(ctx context.Context, item []byte) error {
	if len(item) != d.TypeSize {
		return fault.New(fault.ErrInvalid, "fill value", "", strconv.Itoa(len(item))+" bytes, an item has "+strconv.Itoa(d.TypeSize))
	}
	kind, value := blosc.Repeated, item
	switch {
	case len(d.entries) == 0:
		return nil // there is nothing to fill, and maybe no size of a chunk
	case !slices.ContainsFunc(item, func(b byte) bool { return b != 0 }):
		return nil // they are
	case len(item) == 4 && binary.LittleEndian.Uint32(item) == 0x7fc00000, len(item) == 8 && binary.LittleEndian.Uint64(item) == 0x7ff8000000000000:
		kind, value = blosc.NaNs, nil
	}
	b, err := blosc.EncodeSpecial(nil, kind, max(d.ChunkSize, 0), value, d.params())
	if err != nil {
		return err
	}
	for i := range d.entries {
		if d.entries[i], err = d.add(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// Fill writes all items of the array in one commit. read gives those of the
// box from start up to stop, in C order, their bytes as the array stores them,
// for one chunk after the other; no more are in memory. progress (nil: none)
// is called after each. Errors are those of read and of SetSlice.
func (a *NDArray) Fill(ctx context.Context, read func(ctx context.Context, start, stop []int64) ([]byte, error), progress func(chunks, total int64)) error {
	return a.s.f.change(ctx, func(d *draft) error {
		v := d.f.view
		spans := v.shape.all()
		axes := make([][]cut, len(spans))
		for i, s := range spans {
			axes[i] = s.cuts(0, s.Len(), 0, v.shape.Chunks[i])
		}
		grid, done := v.shape.grid(), int64(0)
		total, _ := product(grid)
		return each(axes, func(at []cut) error {
			g := gather{view: v, o: d.f.o, spans: make([]Span, len(at))}
			start, stop := make([]int64, len(at)), make([]int64, len(at))
			for i, c := range at {
				start[i], stop[i] = c.from, c.to
				g.spans[i] = Span{c.from, c.to, 1}
			}
			items, err := read(ctx, start, stop)
			if err == nil {
				err = d.assignBox(ctx, &g, items)
			}
			if done++; err == nil && progress != nil {
				progress(done, total)
			}
			return err
		})
	})
}

// all are the spans of a whole array.
func (s *Shape) all() []Span {
	spans := make([]Span, len(s.Shape))
	for i, n := range s.Shape {
		spans[i] = Span{0, n, 1}
	}
	return spans
}
