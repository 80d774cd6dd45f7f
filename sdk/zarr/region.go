package zarr

import (
	"context"
	"errors"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// RetrieveRegion returns the elements from start to stop (exclusive) per
// axis: C order, little endian. Only the subchunks that the region touches are
// read, those of one shard in one batch; shards are read side by side. Errors
// are those of RetrieveSubchunk; ErrOutOfRange for a region that is not within
// the array. An empty region is fine.
func (a *Array) RetrieveRegion(ctx context.Context, start, stop []int64, o ReadOptions) ([]byte, error) {
	if err := o.Cache.check(a); err != nil {
		return nil, err
	}
	if err := a.checkRegion(start, stop); err != nil {
		return nil, err
	}
	return a.box(ctx, start, stop, o)
}

// RetrieveChunk returns the elements of the chunk (shard) at a place in the
// chunk grid, at its full shape. Errors are those of RetrieveSubchunk.
func (a *Array) RetrieveChunk(ctx context.Context, idx []int64, o ReadOptions) ([]byte, error) {
	if err := o.Cache.check(a); err != nil {
		return nil, err
	}
	if err := a.checkIndex(idx, a.grid); err != nil {
		return nil, err
	}
	start, stop := a.chunkBounds(idx)
	return a.box(ctx, start, stop, o)
}

// chunkBounds are the first element of a chunk and the end of it.
func (a *Array) chunkBounds(idx []int64) (start, stop []int64) {
	edge := a.meta.grid.chunkShape(idx)
	start, stop = make([]int64, len(idx)), make([]int64, len(idx))
	for i := range idx {
		start[i] = a.meta.grid.origin(i, idx[i])
		stop[i] = start[i] + edge[i]
	}
	return start, stop
}

// checkRegion refuses what is not a region of the array.
func (a *Array) checkRegion(start, stop []int64) error {
	if len(start) != len(a.meta.shape) || len(stop) != len(a.meta.shape) {
		return fault.New(fault.ErrInvalid, "zarr", "/"+a.path, "region has "+itoa(int64(len(start)))+" and "+itoa(int64(len(stop)))+" axes, the array "+itoa(int64(len(a.meta.shape))))
	}
	for i, n := range a.meta.shape {
		if start[i] < 0 || start[i] > stop[i] || stop[i] > n {
			return fault.New(fault.ErrOutOfRange, "zarr", "/"+a.path, "region "+tuple(start)+".."+tuple(stop)+" is not within "+tuple(a.meta.shape))
		}
	}
	return nil
}

// box reads the elements from start to stop, which may reach past the
// array's edge as far as chunks do.
func (a *Array) box(ctx context.Context, start, stop []int64, o ReadOptions) ([]byte, error) {
	n := extent(start, stop)
	item := a.meta.elem.size
	size, ok := product(append([]int64{item}, n...)...)
	if err := a.o.Limits.check("region", size, ok); err != nil {
		return nil, err
	}
	ar := newArena(a.meta.elem.variable, a.meta.fill)
	dst := o.Dst
	if ar != nil {
		dst = nil // for the cells; the elements go there in the end
	}
	out := buffer(dst, size)
	if size == 0 {
		return out, nil
	}
	err := a.fillView(ctx, ar, start, stop, cOrder(out, n, item), o)
	if err != nil {
		return nil, err
	}
	if ar == nil {
		return out, nil
	}
	return ar.flatten(out, o.Dst, a.o.Limits.chunk())
}

// fillView reads the elements from start to stop into a view of as many.
func (a *Array) fillView(ctx context.Context, ar *arena, start, stop []int64, out view, o ReadOptions) error {
	return a.eachChunk(start, stop, func(idx, lo, hi, at []int64) error {
		return a.chunkBox(ctx, ar, idx, lo, hi, out.at(at), o)
	})
}

// eachChunk calls f, side by side, for each chunk that a block touches: its
// place, the part of it that the block touches, counted from the chunk's
// first element, and where in the block that part begins.
func (a *Array) eachChunk(start, stop []int64, f func(idx, lo, hi, at []int64) error) error {
	axes := len(start)
	room := corners{free: make([]int64, 2*axes)}
	first, count := room.take(axes), room.take(axes)
	for i := range first {
		if start[i] == stop[i] {
			return nil
		}
		first[i] = a.meta.grid.find(i, start[i])
		count[i] = a.meta.grid.find(i, stop[i]-1) - first[i] + 1
	}
	chunks, _ := product(count...)
	return parallel(int(chunks), a.atOnce(), func(k int) error {
		room := corners{free: make([]int64, 4*axes)}
		idx, lo, hi, at := room.take(axes), room.take(axes), room.take(axes), room.take(axes)
		unravel(int64(k), count, idx)
		for i := range idx {
			idx[i] += first[i]
		}
		shape := a.meta.grid.chunkShape(idx)
		for i := range idx {
			origin := a.meta.grid.origin(i, idx[i])
			lo[i] = max(start[i]-origin, 0)
			hi[i] = min(stop[i]-origin, shape[i])
			at[i] = origin + lo[i] - start[i]
		}
		return f(idx, lo, hi, at)
	})
}

// chunkBox reads a block of one chunk into out. lo and hi count from the
// chunk's first element.
func (a *Array) chunkBox(ctx context.Context, ar *arena, idx, lo, hi []int64, out view, o ReadOptions) error {
	c := a.meta.codecs
	for attempt := 0; ; attempt++ {
		fresh := o.Reload || attempt > 0
		if fresh && o.Cache != nil {
			o.Cache.drop(linear(idx, a.grid))
		}
		ref := shardRef{from: a.chunk(idx)}
		if a.shards != nil {
			ref = a.shardRef(idx, fresh)
		}
		r := reader{cache: o.Cache, arena: ar, limits: a.o.Limits, tick: a.o.Tick, trace: a.o.Trace}
		err := r.chunk(ctx, c, ref, a.meta.grid.chunkShape(idx), lo, hi, out)
		if errors.Is(err, fault.ErrNotFound) {
			fillBox(out, extent(lo, hi), c.elem.fill)
			return nil
		}
		if !again(err, attempt) {
			return chunkError(err, ref.from.key)
		}
	}
}

func chunkError(err error, key string) error {
	if err == nil {
		return nil
	}
	var e *fault.Error
	if fault.CodeOf(err) == fault.CodeCancelled || errors.As(err, &e) && e.Format == "zarr" {
		return err
	}
	return &fault.Error{Format: "zarr", Item: key, Off: -1, Err: err}
}

// reader reads blocks of chunks.
type reader struct {
	cache  *ShardCache
	arena  *arena // nil for elements of a fixed size
	limits Limits
	tick   func(context.Context) error
	trace  storage.Trace
}

func extent(lo, hi []int64) []int64 {
	n := make([]int64, len(lo))
	for i := range n {
		n[i] = hi[i] - lo[i]
	}
	return n
}

// chunk reads a block of one chunk of a shape. ref is used if the chunk is a
// shard; ErrNotFound says that there is no such chunk.
func (r reader) chunk(ctx context.Context, c *chain, ref shardRef, shape, lo, hi []int64, out view) error {
	if s := c.sharding(); s != nil {
		if len(c.bytes) > 0 {
			b, err := ref.from.all(ctx, r.limits.chunk(), c.decoded(shape))
			if err != nil {
				return err
			}
			if b, err = c.decodeBytes(ctx, nil, b, ref.shape); err != nil {
				return err
			}
			ref.from = inMemory(b)
		}
		return r.shard(ctx, ref, permute(lo, c.order), permute(hi, c.order), out.permute(c.order))
	}
	if err := r.limits.check("chunk", c.size(shape), true); err != nil {
		return err
	}
	b, err := ref.from.all(ctx, r.limits.chunk(), c.decoded(shape))
	if err != nil {
		return err
	}
	return r.decodeInto(ctx, c, b, shape, lo, hi, out)
}

// decodeInto decodes a chunk and copies a block of it.
func (r reader) decodeInto(ctx context.Context, c *chain, b []byte, shape, lo, hi []int64, out view) error {
	item := c.elem.size
	var dst []byte
	p := scratch.Get().(*[]byte)
	defer scratch.Put(p)
	if c.copies || c.elem.variable {
		*p = buffer(*p, c.size(shape))
		dst = *p
	}
	began := r.trace.Now()
	b, err := c.decode(ctx, r.arena, dst, b, shape)
	r.trace.Done(storage.Decoded, "", int64(len(b)), began, err)
	if err != nil {
		return err
	}
	var few [2 * fewAxes]int64
	n := few[:0:fewAxes]
	for i := range lo {
		n = append(n, hi[i]-lo[i])
	}
	copyBox(out, view{buf: b, stride: cStrides(few[fewAxes:fewAxes], shape, item)}.at(lo), n, item)
	return nil
}

// part is a subchunk that a block touches.
type part struct {
	i      int64   // in the shard
	lo, hi []int64 // within the subchunk
	out    view
	r      storage.Range // of the stored bytes
}

// shard reads a block of one shard; lo and hi count stored axes.
func (r reader) shard(ctx context.Context, ref shardRef, lo, hi []int64, out view) error {
	s := ref.codec
	x, err := shardIndex(ctx, r.cache, ref)
	if err != nil {
		return err
	}
	if x.missing {
		fillBox(out, extent(lo, hi), s.elem.fill)
		return nil
	}
	if ref.from.store != nil {
		ref.from.version, ref.from.packed = x.info.Version, x.packed
	}
	if err := r.limits.check("subchunk", s.inner.size(s.sub), true); err != nil {
		return err
	}
	nested := s.inner.sharding() != nil && len(s.inner.bytes) == 0
	empty := false
	l := r.load(&ref)
	defer l.release()
	err = eachPart(&l.ref, lo, hi, out, &l.corners, func(p part) error {
		off, n, ok := x.at(p.i)
		if !ok {
			empty = true
			fillBox(p.out, extent(p.lo, p.hi), s.elem.fill)
			return nil
		}
		if nested {
			in := l.ref.below(s.inner.sharding(), p.i, l.ref.from.within(off, n))
			o := s.inner.order
			return r.shard(ctx, in, permute(p.lo, o), permute(p.hi, o), p.out.permute(o))
		}
		p.r = storage.Range{Off: off, Len: n}
		return l.add(ctx, p)
	})
	if err != nil {
		return err
	}
	if empty {
		if err := l.ref.from.check(ctx); err != nil {
			return err
		}
	}
	return l.decode(ctx)
}
