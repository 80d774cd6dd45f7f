package blosc2

import (
	"context"
	"math"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
)

// NDArray is an array of any number of axes, up to 16, over an SChunk: each
// chunk is a box of the array, each block of a chunk a box of the chunk. Safe
// for concurrent use.
type NDArray struct{ s *SChunk }

// Kind is "ndarray".
func (a *NDArray) Kind() string { return "ndarray" }

// SChunk returns what the array lies in, with its metadata. Closing either
// closes both.
func (a *NDArray) SChunk() *SChunk { return a.s }

// Close closes the array. Closing twice is fine.
func (a *NDArray) Close() error { return a.s.Close() }

// Refresh is SChunk's; the shape is that of now afterwards.
func (a *NDArray) Refresh(ctx context.Context) (bool, error) { return a.s.Refresh(ctx) }

// Shape returns the geometry: a copy. Zero once closed.
func (a *NDArray) Shape() Shape {
	v, err := a.s.f.state()
	if err != nil {
		return Shape{}
	}
	return v.shape.clone()
}

// DType returns the data type of an item; zero once closed.
func (a *NDArray) DType() DType {
	v, err := a.s.f.state()
	if err != nil {
		return DType{}
	}
	return v.dtype
}

// Slice appends the items that the spans select, one span an axis, to dst: C
// order, the bytes of an item as they are stored (see DType.LittleEndian). No
// spans at all are the whole array. Only the blocks that hold any of the items
// are decoded. ErrInvalid for the wrong number of spans, ErrOutOfRange, and
// the errors of SChunk.Chunk.
func (a *NDArray) Slice(ctx context.Context, spans []Span, dst []byte) ([]byte, error) {
	out := dst
	err := a.s.f.read(ctx, func(v *view) (err error) {
		g := gather{view: v, o: a.s.f.o, spans: spans, again: &a.s.f.again, near: &a.s.f.head}
		if spans == nil {
			g.spans = v.shape.all()
		}
		size, err := g.size()
		if err != nil || size == 0 {
			return err
		}
		out = room(dst, size)
		g.dst = out[len(dst):]
		return g.all(ctx)
	})
	return out, err
}

// gather is one Slice.
type gather struct {
	*view
	o     Options
	spans []Span
	count []int64 // items of each span
	pitch []int64 // bytes in dst from an item to the next along each axis
	dst   []byte
	buf   []byte // a block
	again *again // nil: nothing is kept
	near  *head  // nil: nothing is mapped
}

// size checks the spans and returns the bytes of the result.
func (g *gather) size() (int64, error) {
	if len(g.spans) != len(g.shape.Shape) {
		return 0, fault.New(fault.ErrInvalid, "slice", "", strconv.Itoa(len(g.spans))+" axes given, the array has "+strconv.Itoa(len(g.shape.Shape)))
	}
	g.count, g.pitch = make([]int64, len(g.spans)), make([]int64, len(g.spans))
	for i, s := range g.spans {
		if err := s.within(i, g.shape.Shape[i]); err != nil {
			return 0, err
		}
		g.count[i] = s.Len()
	}
	items, ok := product(g.count)
	if !ok || items > math.MaxInt/g.dtype.size {
		return 0, overLimit("a slice of more bytes than there are")
	}
	size := g.dtype.size
	for i := len(g.count) - 1; i >= 0; i-- {
		g.pitch[i] = size
		size *= g.count[i]
	}
	return items * g.dtype.size, nil
}

// all goes through the chunks.
func (g *gather) all(ctx context.Context) error {
	axes := make([][]cut, len(g.spans))
	for i, s := range g.spans {
		axes[i] = s.cuts(0, g.count[i], 0, g.shape.Chunks[i])
	}
	grid := g.shape.grid()
	if g.o.Workers > 1 {
		return g.together(ctx, axes, grid)
	}
	return each(axes, func(at []cut) error { return g.fromChunk(ctx, number(at, grid), at) })
}

// fromChunk goes through the blocks of a chunk. That an edge block reaches
// past the array, or the chunk, does not matter: nothing there is selected.
func (g *gather) fromChunk(ctx context.Context, i int64, in []cut) error {
	axes := make([][]cut, len(in))
	wanted := 1
	for k, c := range in {
		axes[k] = g.spans[k].cuts(c.from, c.to, c.cell*g.shape.Chunks[k], g.shape.Blocks[k])
		wanted *= len(axes[k])
	}
	grid := g.shape.blockGrid()
	total, _ := product(grid)
	return g.chunk(ctx, i, int64(wanted) > total/2, g.near, g.o, func(c *blosc.Chunk) error {
		blockSize, _ := product(g.shape.Blocks)
		if h := c.Header(); int64(h.BlockSize) != blockSize*g.dtype.size && h.Special == blosc.NotSpecial && !h.Stored {
			return corrupt(-1, "has blocks of "+strconv.Itoa(h.BlockSize)+" bytes, which are not those of the array")
		}
		return each(axes, func(at []cut) error { return g.fromBlock(c, i, int(number(at, grid)), at) })
	})
}

// fromBlock copies what is selected of a block. Of the block it decodes what
// lies between the first and the last of these items.
func (g *gather) fromBlock(c *blosc.Chunk, key int64, i int, at []cut) error {
	k, to, from := g.box(at)
	blocks, _ := product(g.shape.Blocks)
	start := int64(i) * blocks * g.dtype.size
	h := c.Header()
	if h.Special == blosc.Zeros || h.Special == blosc.Uninit {
		k.copy(g.dst, nil, to, 0, 0)
		return nil
	}
	first, last := k.reach(from)
	if plain, unlock := g.again.block(c, key, i, last-first); plain != nil {
		k.copy(g.dst, plain, to, from, 0)
		unlock()
		return nil
	}
	if k.flat() {
		_, err := c.DecodeRange(int(start+first), int(start+last), g.dst[to:to:to+last-first])
		return err
	}
	var err error
	if g.buf, err = c.DecodeRange(int(start+first), int(start+last), g.buf[:0]); err != nil {
		return err
	}
	k.copy(g.dst, g.buf, to, from-first, 0)
	return nil
}

// box is what is selected of a block: how its items are copied, and where the
// first lies in the slice and in the block.
func (g *gather) box(at []cut) (k copier, inSlice, inBlock int64) {
	pitch := g.dtype.size // in the block
	k = copier{steps: make([]step, len(at)), size: g.dtype.size}
	for axis := len(at) - 1; axis >= 0; axis-- {
		inSlice += at[axis].from * g.pitch[axis]
		inBlock += at[axis].at * pitch
		k.steps[axis] = step{at[axis].to - at[axis].from, g.pitch[axis], pitch * g.spans[axis].step()}
		pitch *= g.shape.Blocks[axis]
	}
	return k, inSlice, inBlock
}

// copier copies a box of items.
type copier struct {
	steps []step
	size  int64 // of an item
}

// step is how one axis is gone along: count items, and the bytes from one to
// the next.
type step struct{ count, to, from int64 }

// reach is which bytes of the source the box lies in whose first item is at
// from.
func (c *copier) reach(from int64) (first, last int64) {
	first, last = from, from+c.size
	for _, s := range c.steps {
		if d := (s.count - 1) * s.from; d < 0 {
			first += d
		} else {
			last += d
		}
	}
	return first, last
}

// flat reports whether the items lie in the result as they lie in the source,
// without gaps.
func (c *copier) flat() bool {
	pitch := c.size
	for axis := len(c.steps) - 1; axis >= 0; axis-- {
		s := c.steps[axis]
		if s.count > 1 && (s.to != pitch || s.from != pitch) {
			return false
		}
		pitch *= s.count
	}
	return true
}

// copy copies the box from src, or clears it in dst if there is none.
func (c *copier) copy(dst, src []byte, to, from int64, axis int) {
	if axis == len(c.steps) {
		c.move(dst[to:to+c.size], src, from)
		return
	}
	s := c.steps[axis]
	if axis == len(c.steps)-1 && s.to == c.size && (s.from == c.size || src == nil) {
		c.move(dst[to:to+s.count*c.size], src, from)
		return
	}
	for range s.count {
		c.copy(dst, src, to, from, axis+1)
		to += s.to
		from += s.from
	}
}

func (c *copier) move(dst, src []byte, from int64) {
	if src == nil {
		clear(dst)
		return
	}
	copy(dst, src[from:])
}
