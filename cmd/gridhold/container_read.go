package main

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
)

// block returns what read writes of a container, and its data type.
func (c *container) block(sel selection, encoded bool) (*block, string, error) {
	if sel.subchunk != nil {
		return nil, "", usagef("--subchunk goes with Zarr arrays: here are chunks")
	}
	switch b := c.Container.(type) {
	case *blosc2.NDArray:
		a := &boxes{b, describeBoxes(b)}
		if encoded {
			at, err := sel.chunk.in(a.is.ChunkGridShape, "chunk")
			return encodedChunk(b.SChunk(), place(at, a.is.ChunkGridShape)), "", err
		}
		sel, err := decodedBlock(a, sel)
		return sel, a.is.DataType, err
	case *blosc2.SChunk:
		block, err := itemBlock(b, sel, encoded)
		return block, "items of " + strconv.Itoa(b.Header().TypeSize) + " bytes", err
	}
	return nil, "", fault.New(fault.ErrInvalid, "read", "", "a "+c.Kind()+" has keys: choose one with --key")
}

// place is the number of a cell in C order.
func place(at, grid []int64) int64 {
	n := int64(0)
	for i := range at {
		n = n*grid[i] + at[i]
	}
	return n
}

func encodedChunk(s *blosc2.SChunk, i int64) *block {
	return &block{write: func(ctx context.Context, w io.Writer) error {
		b, err := s.EncodedChunk(ctx, i)
		return writeAll(w, b, err)
	}}
}

// itemBlock is the bytes of a sequence of items: all, those of a chunk, or
// those of a region of items.
func itemBlock(s *blosc2.SChunk, sel selection, encoded bool) (*block, error) {
	h := s.Header()
	if sel.chunk != nil {
		at, err := sel.chunk.in([]int64{s.NumChunks()}, "chunk")
		if err != nil {
			return nil, err
		}
		if encoded {
			return encodedChunk(s, at[0]), nil
		}
		return &block{write: func(ctx context.Context, w io.Writer) error {
			b, err := s.Chunk(ctx, at[0], nil)
			return writeAll(w, b, err)
		}}, nil
	}
	from, to := int64(0), h.Size // with what is left after the last whole item
	if sel.region != nil {
		start, stop, err := bounds(sel.region, []int64{s.Len()})
		if err != nil {
			return nil, err
		}
		from, to = start[0]*int64(h.TypeSize), stop[0]*int64(h.TypeSize)
	}
	return &block{write: func(ctx context.Context, w io.Writer) error {
		step := int64(inMemory)
		if chunk := int64(h.ChunkSize); chunk > 0 {
			step = max(step/chunk, 1) * chunk
		}
		for at := from; at < to; {
			next := min((at/step+1)*step, to)
			b := make([]byte, next-at)
			if err := writeAll(w, b, s.ReadBytes(ctx, at, b)); err != nil {
				return err
			}
			at = next
		}
		return nil
	}}, nil
}

// boxes is an NDArray as read takes arrays.
type boxes struct {
	*blosc2.NDArray
	is *description
}

func describeBoxes(a *blosc2.NDArray) *description {
	s, t := a.Shape(), a.DType()
	d := &description{Shape: s.Shape, ChunkShape: s.Chunks, ChunkGridShape: make([]int64, len(s.Shape)), DataType: t.String(), ItemSize: t.Size(), SubchunkShape: s.Chunks}
	if code, ok := strings.CutPrefix(d.DataType, ">"); ok {
		d.DataType = "<" + code // it is turned around
	}
	for i, n := range s.Shape {
		if n > 0 {
			d.ChunkGridShape[i] = (n-1)/s.Chunks[i] + 1
		}
	}
	d.FillHex = strings.Repeat("00", int(t.Size()))
	d.SubchunkGridShape = d.ChunkGridShape
	return d
}

func (b *boxes) shape() *description { return b.is }

func (b *boxes) copyOfRegion(ctx context.Context, start, stop []int64) ([]byte, error) {
	spans := make([]blosc2.Span, len(start))
	for i := range start {
		spans[i] = blosc2.Span{Start: start[i], Stop: stop[i]}
	}
	elements, err := b.Slice(ctx, spans, nil)
	if err == nil {
		b.DType().LittleEndian(elements)
	}
	return elements, err
}

func (b *boxes) region(ctx context.Context, start, stop []int64) ([]byte, error) {
	return b.copyOfRegion(ctx, start, stop)
}

func (b *boxes) subchunk(context.Context, []int64) ([]byte, error) { return nil, fault.ErrUnsupported }
func (b *boxes) encodedSubchunk(context.Context, []int64) ([]byte, error) {
	return nil, fault.ErrUnsupported
}
