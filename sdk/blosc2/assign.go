package blosc2

import (
	"context"
	"strconv"

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
			g.spans = g.shape.all()
		}
		return d.assignBox(ctx, &g, items)
	})
}

// assignBox replaces the items that g selects.
func (d *draft) assignBox(ctx context.Context, g *gather, items []byte) error {
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
	return each(axes, func(at []cut) error { return d.assign(ctx, g, int(number(at, grid)), at) })
}

// assign replaces a part of a chunk by the items of g.
func (d *draft) assign(ctx context.Context, g *gather, i int, in []cut) error {
	if from, ok := g.asStored(in); ok {
		return d.update(ctx, i, g.dst[from:from+int64(d.ChunkSize)])
	}
	chunk := d.f.spare.chunk(d.ChunkSize)
	if g.covers(in) {
		clear(chunk) // what no item goes to
	} else {
		var err error
		if chunk, err = g.decoded(ctx, int64(i), chunk[:0], g.o); err != nil {
			return err
		}
	}
	g.place(chunk, in)
	return d.update(ctx, i, chunk)
}

// place copies those items of g that lie in a chunk to where they lie in it.
func (g *gather) place(chunk []byte, in []cut) {
	axes := make([][]cut, len(in))
	for k, c := range in {
		axes[k] = g.spans[k].cuts(c.from, c.to, c.cell*g.shape.Chunks[k], g.shape.Blocks[k])
	}
	grid := g.shape.blockGrid()
	blocks, _ := product(g.shape.Blocks)
	each(axes, func(at []cut) error {
		k, outside, inside := g.box(at)
		for axis := range k.steps {
			s := &k.steps[axis]
			s.to, s.from = s.from, s.to
		}
		k.copy(chunk[number(at, grid)*blocks*g.dtype.size:], g.dst, inside, outside, 0)
		return nil
	})
}

// asStored returns where the items of a chunk begin in those of g, and whether
// they lie there as the chunk has them: all of its items, block after block.
func (g *gather) asStored(in []cut) (from int64, ok bool) {
	for k, c := range in {
		n := g.shape.Chunks[k]
		if c.to-c.from != n || g.spans[k].step() != 1 || n%g.shape.Blocks[k] != 0 {
			return 0, false
		}
		if k > 0 && (g.count[k] != n || g.shape.Blocks[k] != n) {
			return 0, false
		}
		from += c.from * g.pitch[k]
	}
	return from, true
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
