package zarr

import (
	"context"
	"errors"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// StoreRegion writes the elements from start to stop (exclusive) per axis.
// data is C order, little endian; elements of variable length come as their
// length, a little-endian uint32, and their bytes.
//
// Each chunk (shard) that the region touches is replaced in one step: who
// reads meanwhile sees all of its old elements or all of its new ones. Chunks
// that the region covers only in part are read first, and subchunks that it
// does not touch keep their stored bytes. Writers of one process that meet at
// a chunk wait for each other; a writer of another process that was faster is
// noticed where the store knows versions, and the chunk is done again. A
// chunk that comes to hold fill values alone is deleted.
//
// Errors: ErrInvalid if data has the wrong size, ErrOutOfRange, ErrReadOnly if
// the store cannot write, ErrUnsupported for codecs that cannot encode,
// ErrStale if others replaced the chunk each time, and the store's. After an
// error some chunks may be written and others not.
func (a *Array) StoreRegion(ctx context.Context, start, stop []int64, data []byte) error {
	if err := a.checkRegion(start, stop); err != nil {
		return err
	}
	return a.storeBox(ctx, start, stop, data)
}

// StoreChunk writes all elements of the chunk (shard) at a place in the chunk
// grid, at its full shape: what lies beyond the array's edge is stored too.
// Errors are those of StoreRegion.
func (a *Array) StoreChunk(ctx context.Context, idx []int64, data []byte) error {
	if err := a.checkIndex(idx, a.grid); err != nil {
		return err
	}
	start, stop := a.chunkBounds(idx)
	return a.storeBox(ctx, start, stop, data)
}

// StoreSubchunk writes all elements of the subchunk at a place in the
// subchunk grid, at its full shape. Errors are those of StoreRegion.
func (a *Array) StoreSubchunk(ctx context.Context, idx []int64, data []byte) error {
	if err := a.checkIndex(idx, a.subGrid); err != nil {
		return err
	}
	if a.shards == nil {
		return a.StoreChunk(ctx, idx, data)
	}
	start, stop := a.subchunkBounds(idx)
	return a.storeBox(ctx, start, stop, data)
}

// EraseChunk deletes the chunk (shard) at a place in the chunk grid: its
// elements become the fill value. One that is not there is fine.
func (a *Array) EraseChunk(ctx context.Context, idx []int64) error {
	if err := a.checkIndex(idx, a.grid); err != nil {
		return err
	}
	w, err := storage.Writer(a.store)
	if err != nil {
		return err
	}
	key := a.ChunkKey(idx)
	unlock, err := writers.lock(ctx, a.store, key)
	if err != nil {
		return err
	}
	defer unlock()
	return w.Delete(ctx, key, storage.Condition{})
}

// storeBox writes a block that may reach past the array's edge as far as
// chunks do.
func (a *Array) storeBox(ctx context.Context, start, stop []int64, data []byte) error {
	w, err := storage.Writer(a.store)
	if err != nil {
		return err
	}
	if a.meta.format != 3 {
		return fault.New(fault.ErrUnsupported, "zarr", "/"+a.path, "writing Zarr v2")
	}
	n := extent(start, stop)
	src, ar, err := a.elements(data, n)
	if err != nil {
		return err
	}
	return a.eachChunk(start, stop, func(idx, lo, hi, at []int64) error {
		return a.storeChunkBox(ctx, w, ar, idx, lo, hi, src.at(at))
	})
}

// elements checks data and returns it as a block of elements in memory.
func (a *Array) elements(data []byte, n []int64) (view, *arena, error) {
	e := a.meta.elem
	size, ok := product(append([]int64{e.size}, n...)...)
	if err := a.o.Limits.check("region", size, ok); err != nil {
		return view{}, nil, err
	}
	if !e.variable {
		if int64(len(data)) != size {
			return view{}, nil, fault.New(fault.ErrInvalid, "zarr", "/"+a.path, "got "+itoa(int64(len(data)))+" bytes of elements, want "+itoa(size))
		}
		return cOrder(data, n, e.size), nil, nil
	}
	ar := newArena(true, a.meta.fill)
	cells, err := ar.cells(data, size/e.size, e.dtype.(variableType))
	return cOrder(cells, n, e.size), ar, err
}

// attempts bounds how often a chunk is done again because another process
// replaced it meanwhile.
const attempts = 16

// storeChunkBox writes a block of one chunk.
func (a *Array) storeChunkBox(ctx context.Context, w storage.Putter, ar *arena, idx, lo, hi []int64, src view) error {
	key := a.ChunkKey(idx)
	unlock, err := writers.lock(ctx, a.store, key)
	if err != nil {
		return err
	}
	defer unlock()
	for attempt := 1; ; attempt++ {
		err := a.replaceChunk(ctx, w, ar.fork(), idx, lo, hi, src)
		if attempt == attempts || !errors.Is(err, fault.ErrStale) && !errors.Is(err, fault.ErrExists) {
			return chunkError(err, key)
		}
	}
}

// replaceChunk makes the new bytes of a chunk from its old ones and puts them
// in their place, if those are still there.
func (a *Array) replaceChunk(ctx context.Context, w storage.Putter, ar *arena, idx, lo, hi []int64, src view) error {
	c, key := a.meta.codecs, a.ChunkKey(idx)
	shape := a.meta.grid.chunkShape(idx)
	var old []byte
	var when storage.Condition
	if !covers(lo, hi, shape, a.insideArray(idx, shape)) {
		var err error
		if old, when, err = a.oldChunk(ctx, key); err != nil {
			return err
		}
	}
	var stored []byte
	var err error
	if s := c.sharding(); s != nil && len(c.bytes) == 0 {
		lo, hi, src = permute(lo, c.order), permute(hi, c.order), src.permute(c.order)
		stored, err = s.patch(ctx, ar, old, permute(shape, c.order), lo, hi, src, a.o.Limits)
	} else {
		stored, err = c.patch(ctx, ar, old, shape, lo, hi, src, a.o.Limits)
	}
	if err != nil {
		return err
	}
	if stored == nil {
		return w.Delete(ctx, key, when)
	}
	_, err = w.Put(ctx, key, stored, when)
	return err
}

// insideArray is the part of a chunk that lies within the array.
func (a *Array) insideArray(idx, shape []int64) []int64 {
	in := make([]int64, len(shape))
	for i := range in {
		in[i] = min(shape[i], a.meta.shape[i]-a.meta.grid.origin(i, idx[i]))
	}
	return in
}

// covers reports whether a block leaves nothing of a chunk that matters.
func covers(lo, hi, shape, in []int64) bool {
	for i := range lo {
		if lo[i] > 0 || hi[i] < min(shape[i], in[i]) {
			return false
		}
	}
	return true
}

// oldChunk reads the stored bytes of a chunk, nil if there is none, and the
// condition on which they may be replaced.
func (a *Array) oldChunk(ctx context.Context, key string) ([]byte, storage.Condition, error) {
	limit := a.o.Limits.chunk()
	bs, info, err := a.store.ReadRanges(ctx, key, []storage.Range{{Off: 0, Len: limit + 1}}, "")
	if errors.Is(err, fault.ErrNotFound) {
		return nil, storage.Condition{Absent: true}, nil
	}
	if err != nil {
		return nil, storage.Condition{}, err
	}
	if err := a.o.Limits.check(key, int64(len(bs[0])), true); err != nil {
		return nil, storage.Condition{}, err
	}
	if bs[0] == nil {
		bs[0] = []byte{}
	}
	return bs[0], storage.Condition{Version: info.Version}, nil
}

// patch returns the stored bytes of a chunk with a block replaced; nil if all
// of it is fill values now. old is nil for a chunk that is not there.
func (c *chain) patch(ctx context.Context, ar *arena, old []byte, shape, lo, hi []int64, src view, limits Limits) ([]byte, error) {
	if err := limits.check("chunk", c.size(shape), true); err != nil {
		return nil, err
	}
	block := make([]byte, c.size(shape))
	fillAll(block, c.elem.fill)
	if old != nil {
		b, err := c.decode(ctx, ar, nil, old, shape)
		if err != nil {
			return nil, err
		}
		copy(block, b)
	}
	copyBox(cOrder(block, shape, c.elem.size).at(lo), src, extent(lo, hi), c.elem.size)
	if c.elem.isFill(ar, block) {
		return nil, nil
	}
	return c.encode(ctx, ar, block, shape)
}

// patch is like that of a chain, for a shard: subchunks that the block does
// not touch keep their stored bytes.
func (s *sharding) patch(ctx context.Context, ar *arena, old []byte, shape, lo, hi []int64, src view, limits Limits) ([]byte, error) {
	l, err := s.layout(shape)
	if err != nil {
		return nil, err
	}
	subs := make([][]byte, l.count)
	ref := shardRef{codec: s, shape: shape, from: inMemory(old)}
	if old != nil {
		x, err := loadIndex(ctx, ref)
		if err != nil {
			return nil, err
		}
		for i := range subs {
			if off, n, ok := x.At(i); ok {
				subs[i] = old[off : off+n : off+n]
			}
		}
	}
	err = eachPart(&ref, lo, hi, src, new(corners), func(p part) error {
		if in := s.inner.sharding(); in != nil && len(s.inner.bytes) == 0 {
			o := s.inner.order
			subs[p.i], err = in.patch(ctx, ar, subs[p.i], permute(s.sub, o), permute(p.lo, o), permute(p.hi, o), p.out.permute(o), limits)
			return err
		}
		was := subs[p.i]
		if covers(p.lo, p.hi, s.sub, s.sub) {
			was = nil
		}
		subs[p.i], err = s.inner.patch(ctx, ar, was, s.sub, p.lo, p.hi, p.out, limits)
		return err
	})
	if err != nil || allEmpty(subs) {
		return nil, err
	}
	return s.assemble(ctx, subs, l)
}

func allEmpty(subs [][]byte) bool {
	for _, b := range subs {
		if b != nil {
			return false
		}
	}
	return true
}
