package main

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
)

// frame is what read needs of a frame, whatever the engine. Arrays give
// numbers little endian.
type frame interface {
	facts() frameFacts
	slice(ctx context.Context, spans []blosc2.Span) ([]byte, error)
	readBytes(ctx context.Context, off int64, dst []byte) error
	chunk(ctx context.Context, i int64) ([]byte, error)
	encodedChunk(ctx context.Context, i int64) ([]byte, error)
}

// frameFacts are what a frame says of itself. Sizes are in bytes.
type frameFacts struct {
	array     bool
	shape     blosc2.Shape
	itemSize  int64
	chunkSize int64
	size      int64
	chunks    int64
}

// frameBlock returns what read writes of a frame, and its data type.
func frameBlock(f frame, sel selection, encoded bool) (*block, string, error) {
	if sel.subchunk != nil {
		return nil, "", usagef("--subchunk goes with Zarr arrays: here are chunks")
	}
	is := f.facts()
	if !is.array {
		block, err := itemBlock(f, sel, encoded)
		return block, "items of " + strconv.FormatInt(is.itemSize, 10) + " bytes", err
	}
	a := newBoxes(f)
	if encoded {
		at, err := sel.chunk.in(a.is.ChunkGridShape, "chunk")
		return encodedChunk(f, place(at, a.is.ChunkGridShape)), "", err
	}
	block, err := decodedBlock(a, sel)
	return block, a.is.DataType, err
}

// noFrame is the error of reading what has keys instead of items.
func noFrame(kind string) error {
	return fault.New(fault.ErrInvalid, "read", "", "a "+kind+" has keys: choose one with --key")
}

func (c *container) block(sel selection, encoded bool) (*block, string, error) {
	switch b := c.Container.(type) {
	case *blosc2.NDArray:
		return frameBlock(nativeFrame{b.SChunk(), b}, sel, encoded)
	case *blosc2.SChunk:
		return frameBlock(nativeFrame{b, nil}, sel, encoded)
	}
	return nil, "", noFrame(c.Kind())
}

// nativeFrame is a frame, and the array that it is, if it is one.
type nativeFrame struct {
	s *blosc2.SChunk
	a *blosc2.NDArray
}

func (f nativeFrame) facts() frameFacts {
	h := f.s.Header()
	is := frameFacts{itemSize: int64(h.TypeSize), chunkSize: int64(h.ChunkSize), size: h.Size, chunks: f.s.NumChunks()}
	if f.a != nil {
		is.array, is.shape = true, f.a.Shape()
	}
	return is
}

func (f nativeFrame) slice(ctx context.Context, spans []blosc2.Span) ([]byte, error) {
	b, err := f.a.Slice(ctx, spans, nil)
	if err == nil {
		f.a.DType().LittleEndian(b)
	}
	return b, err
}

func (f nativeFrame) readBytes(ctx context.Context, off int64, dst []byte) error {
	return f.s.ReadBytes(ctx, off, dst)
}

func (f nativeFrame) chunk(ctx context.Context, i int64) ([]byte, error) {
	return f.s.Chunk(ctx, i, nil)
}

func (f nativeFrame) encodedChunk(ctx context.Context, i int64) ([]byte, error) {
	return f.s.EncodedChunk(ctx, i)
}

// place is the number of a cell in C order.
func place(at, grid []int64) int64 {
	n := int64(0)
	for i := range at {
		n = n*grid[i] + at[i]
	}
	return n
}

func encodedChunk(f frame, i int64) *block {
	return &block{write: func(ctx context.Context, w io.Writer) error {
		b, err := f.encodedChunk(ctx, i)
		return writeAll(w, b, err)
	}}
}

// itemBlock is the bytes of a sequence of items: all, those of a chunk, or
// those of a region of items.
func itemBlock(f frame, sel selection, encoded bool) (*block, error) {
	is := f.facts()
	if sel.chunk != nil {
		at, err := sel.chunk.in([]int64{is.chunks}, "chunk")
		if err != nil {
			return nil, err
		}
		if encoded {
			return encodedChunk(f, at[0]), nil
		}
		return &block{write: func(ctx context.Context, w io.Writer) error {
			b, err := f.chunk(ctx, at[0])
			return writeAll(w, b, err)
		}}, nil
	}
	from, to := int64(0), is.size // with what is left after the last whole item
	if sel.region != nil {
		start, stop, err := bounds(sel.region, []int64{is.size / is.itemSize})
		if err != nil {
			return nil, err
		}
		from, to = start[0]*is.itemSize, stop[0]*is.itemSize
	}
	return &block{write: func(ctx context.Context, w io.Writer) error {
		step := int64(inMemory)
		if is.chunkSize > 0 {
			step = max(step/is.chunkSize, 1) * is.chunkSize
		}
		for at := from; at < to; {
			next := min((at/step+1)*step, to)
			b := make([]byte, next-at)
			if err := writeAll(w, b, f.readBytes(ctx, at, b)); err != nil {
				return err
			}
			at = next
		}
		return nil
	}}, nil
}

// boxes is an array as read takes arrays.
type boxes struct {
	frame
	is *description
}

func newBoxes(f frame) *boxes { return &boxes{f, describeBoxes(f.facts())} }

// Close does nothing: who opened the array closes it.
func (b *boxes) Close() error { return nil }

func describeBoxes(is frameFacts) *description {
	s := is.shape
	d := &description{Shape: s.Shape, ChunkShape: s.Chunks, ChunkGridShape: make([]int64, len(s.Shape)), DataType: s.DType, ItemSize: is.itemSize, SubchunkShape: s.Chunks}
	if code, ok := strings.CutPrefix(d.DataType, ">"); ok {
		d.DataType = "<" + code // it is turned around
	}
	for i, n := range s.Shape {
		if n > 0 {
			d.ChunkGridShape[i] = (n-1)/s.Chunks[i] + 1
		}
	}
	d.FillHex = strings.Repeat("00", int(is.itemSize))
	d.SubchunkGridShape = d.ChunkGridShape
	return d
}

func (b *boxes) shape() *description { return b.is }

func (b *boxes) copyOfRegion(ctx context.Context, start, stop []int64) ([]byte, error) {
	spans := make([]blosc2.Span, len(start))
	for i := range start {
		spans[i] = blosc2.Span{Start: start[i], Stop: stop[i]}
	}
	return b.slice(ctx, spans)
}

func (b *boxes) region(ctx context.Context, start, stop []int64) ([]byte, error) {
	return b.copyOfRegion(ctx, start, stop)
}

func (b *boxes) subchunk(context.Context, []int64) ([]byte, error) { return nil, fault.ErrUnsupported }
func (b *boxes) encodedSubchunk(context.Context, []int64) ([]byte, error) {
	return nil, fault.ErrUnsupported
}
