package engine

import (
	"context"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/wasm/wire"
)

// parseContainer takes a request of container_read or container_write apart:
// u32 container, u32 what, u32 n, i64[n], data.
func (e *Engine) parseContainer(q *request, r *wire.Reader) fault.Code {
	q.handle = r.U32()
	q.at, q.flags = e.containerOf(q.handle), r.U32()
	q.index = r.Dims(q.room[:0], r.U32())
	if r.Bad() {
		return fault.CodeInvalid
	}
	q.data = r.Rest()
	if q.kind == wire.KindContainerWrite {
		q.data = append([]byte(nil), q.data...)
	} else {
		q.name, q.data = string(q.data), nil
	}
	if q.at == nil {
		return fault.CodeClosed
	}
	q.urgent = q.at.endHold != nil
	return 0
}

// weighContainer says what a container's operation may take. It looks at the
// container, which waits for whoever takes over a change, over imports in
// flight: it is the worker's to do that, for nothing else runs while an
// export of the guest waits.
func (q *request) weighContainer() {
	h := frameOf(q.at.container).Header()
	what := q.flags &^ wire.ReadLittle
	chunk := 2 * max(int64(h.ChunkSize), 0)
	if q.kind == wire.KindContainerRead && (what == wire.ReadSlice || what == wire.ReadBytes) && !h.Sparse {
		chunk = min(chunk, partOfChunk(q.at.container, &h))
	}
	q.weight = add(someBytes, chunk)
	switch {
	case q.kind == wire.KindContainerWrite:
		q.weight = add(q.weight, int64(len(q.data)))
	case what == wire.ReadSlice && len(q.index) == 0:
		q.weight = add(q.weight, h.Size)
	case what == wire.ReadSlice && len(q.index)%3 == 0:
		q.weight = add(q.weight, q.sliceSize(int64(h.TypeSize)))
	case what == wire.ReadFrame:
		q.weight = add(q.weight, max(h.PackedSize, h.FrameLen))
	case what == wire.ReadBytes && len(q.index) == 2:
		q.weight = add(q.weight, max(q.index[1], 0))
	}
}

// partOfChunk is what a part of a chunk takes to be read, from at most what is
// stored: nothing of chunks that are all zeros, however large they are. Chunks of
// an array have its blocks, and are decoded by those: one itself, before its
// filters, what the filter delta refers to, and the one that is kept.
func partOfChunk(c blosc2.Container, h *blosc2.Header) int64 {
	block := int64(h.ChunkSize)
	if a, ok := c.(*blosc2.NDArray); ok {
		block = volume(a.Shape().Blocks, int64(h.TypeSize))
	} else if h.PackedSize == 0 {
		return 0
	}
	return add(min(int64(h.ChunkSize), h.PackedSize), volume([]int64{4}, block))
}

// spans are the triples of a slice; nil, for all, where there are none.
func (q *request) spans() []blosc2.Span {
	if len(q.index) == 0 {
		return nil
	}
	spans := make([]blosc2.Span, 0, len(q.index)/3)
	for i := 0; i+2 < len(q.index); i += 3 {
		spans = append(spans, blosc2.Span{Start: q.index[i], Stop: q.index[i+1], Step: q.index[i+2]})
	}
	return spans
}

// sliceSize is the bytes of a slice.
func (q *request) sliceSize(item int64) int64 {
	var shape []int64
	for _, s := range q.spans() {
		shape = append(shape, s.Len())
	}
	return volume(shape, item)
}

func (e *Engine) containerRead(ctx context.Context, q *request) (answer, error) {
	if q.weight > e.gate.limit {
		return answer{}, fault.New(fault.ErrLimit, "container", "", "more than the memory allows")
	}
	b, err := q.read(ctx)
	return answer{kind: wire.Bytes, bytes: b}, err
}

func (q *request) read(ctx context.Context) ([]byte, error) {
	what := q.flags &^ wire.ReadLittle
	if what == wire.ReadVLMeta || what == wire.ReadMetalayer {
		f := frameOf(q.at.container)
		if what == wire.ReadVLMeta {
			return f.VLValue(ctx, q.name)
		}
		return f.Metalayer(q.name)
	}
	f, err := dataOf(q.at.container)
	if err != nil {
		return nil, err
	}
	a, isArray := q.at.container.(*blosc2.NDArray)
	var b []byte
	switch {
	case what == wire.ReadSlice && isArray && len(q.index)%3 == 0:
		b, err = a.Slice(ctx, q.spans(), nil)
	case what == wire.ReadSlice && !isArray && len(q.index) == 0:
		return f.Slice(ctx, 0, f.Len(), nil)
	case what == wire.ReadSlice && !isArray && len(q.index) == 3:
		return items(ctx, f, q.spans()[0])
	case what == wire.ReadBytes && len(q.index) == 2 && q.index[1] >= 0:
		if q.index[1] > f.Header().Size {
			return nil, fault.New(fault.ErrOutOfRange, "byte", "", "more than there are")
		}
		b = make([]byte, q.index[1])
		return b, f.ReadBytes(ctx, q.index[0], b)
	case what == wire.ReadChunk && len(q.index) == 1:
		b, err = f.Chunk(ctx, q.index[0], nil)
	case what == wire.ReadEncoded && len(q.index) == 1:
		return f.EncodedChunk(ctx, q.index[0])
	case what == wire.ReadFrame:
		return blosc2.Bytes(ctx, q.at.container)
	default:
		return nil, fault.New(fault.ErrInvalid, "container", "", "no such read, or of other numbers")
	}
	if err == nil && isArray && q.flags&wire.ReadLittle != 0 {
		a.DType().LittleEndian(b)
	}
	return b, err
}

// items reads a slice of a sequence. One with steps is read without them
// first, so that each block is decoded once.
func items(ctx context.Context, f *blosc2.SChunk, s blosc2.Span) ([]byte, error) {
	n := s.Len()
	if s.Step == 0 || s.Step == 1 || n == 0 {
		if n == 0 {
			s.Start, s.Stop = 0, 0
		}
		return f.Slice(ctx, s.Start, s.Stop, nil)
	}
	last := s.Start + (n-1)*s.Step
	from, to := min(s.Start, last), max(s.Start, last)
	all, err := f.Slice(ctx, from, to+1, nil)
	if err != nil {
		return nil, err
	}
	size := int64(f.Header().TypeSize)
	out := make([]byte, 0, n*size)
	for i := range n {
		at := (s.Start + i*s.Step - from) * size
		out = append(out, all[at:at+size]...)
	}
	return out, nil
}
