package zarr

import (
	"context"
	"errors"
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// ReadOptions are those of one read. The zero value is the advice for a
// single read; give a Cache for more than one.
type ReadOptions struct {
	// Cache keeps shard indexes between reads. Without one, each read loads
	// the index that it needs, uses it once and drops it.
	Cache *ShardCache
	// Dst is where the result goes if it is large enough; its old content is
	// lost, also when the read fails.
	Dst []byte
	// Reload drops the shard's index from the cache, and from what the store
	// keeps, before reading.
	Reload bool
}

// RetrieveSubchunk returns the elements of the subchunk at a place in the
// subchunk grid: C order, little endian, of shape EffectiveSubchunkShape, at
// the array's edge too. A missing shard and an empty subchunk give fill
// values. If the array is not sharded, it returns a whole chunk.
//
// Errors: ErrOutOfRange outside the grid, ErrInvalid for a wrong number of
// axes, ErrWrongArray for another array's cache, ErrCorrupt, ErrStale if the
// shard was replaced twice meanwhile, ErrLimit, and the store's.
func (a *Array) RetrieveSubchunk(ctx context.Context, idx []int64, o ReadOptions) ([]byte, error) {
	at, err := a.locate(idx, o)
	if err != nil {
		return nil, err
	}
	if !a.byRange || a.meta.elem.variable {
		return a.subchunkOfChunk(ctx, idx, o)
	}
	n := a.meta.codecs.size(a.shards.sub)
	if err := a.o.Limits.check("subchunk", n, true); err != nil {
		return nil, err
	}
	for attempt := 0; ; attempt++ {
		x, err := a.index(ctx, at, o, attempt)
		if err != nil {
			return nil, err
		}
		out, err := a.readSubchunk(ctx, x, at.inner, n, o.Dst)
		if !again(err, attempt) {
			return out, a.subchunkError(err, x.key, idx)
		}
	}
}

// place is where a subchunk is.
type place struct {
	shard int64 // in the chunk grid, C order
	inner int64 // in the shard's index
}

// locate finds the shard of a subchunk. A chunk of an array that is not
// sharded is its own only subchunk.
func (a *Array) locate(idx []int64, o ReadOptions) (place, error) {
	if err := o.Cache.check(a); err != nil {
		return place{}, err
	}
	if err := a.checkIndex(idx, a.subGrid); err != nil {
		return place{}, err
	}
	if a.shards == nil {
		return place{shard: linear(idx, a.grid)}, nil
	}
	if a.steps == nil {
		return a.locateInGrid(idx)
	}
	var p place
	for i, x := range idx {
		first := x * a.subEdge[i]
		chunk := a.meta.grid.find(i, first)
		p.shard = p.shard*a.grid[i] + chunk
		p.inner += (first - a.meta.grid.origin(i, chunk)) / a.subEdge[i] * a.steps[i]
	}
	return p, nil
}

// locateInGrid is locate where shards differ in shape.
func (a *Array) locateInGrid(idx []int64) (place, error) {
	shard, in := make([]int64, len(idx)), make([]int64, len(idx))
	for i, x := range idx {
		first := x * a.subEdge[i]
		shard[i] = a.meta.grid.find(i, first)
		in[i] = (first - a.meta.grid.origin(i, shard[i])) / a.subEdge[i]
	}
	order := a.meta.codecs.order
	l, err := a.shards.layout(permute(a.meta.grid.chunkShape(shard), order))
	return place{linear(shard, a.grid), linear(permute(in, order), l.per)}, err
}

// index returns the index of the shard at a place: a new one at the second
// attempt, or if the caller wants it so.
func (a *Array) index(ctx context.Context, at place, o ReadOptions, attempt int) (*ShardIndex, error) {
	fresh := o.Reload || attempt > 0
	if o.Cache != nil {
		if fresh {
			o.Cache.drop(at.shard)
		} else if x, ok := o.Cache.indexes.Peek(indexKey{shard: at.shard}); ok {
			return x, nil
		}
	}
	idx := make([]int64, len(a.grid))
	unravel(at.shard, a.grid, idx)
	return shardIndex(ctx, o.Cache, a.shardRef(idx, fresh))
}

// object is the object that an index came from, in that version.
func (a *Array) object(x *ShardIndex) source {
	return source{store: a.store, key: x.key, version: x.info.Version, packed: x.packed, trace: a.o.Trace}
}

// again reports whether a read is to be tried once more: the shard was
// replaced after its index had been read.
func again(err error, attempt int) bool { return attempt == 0 && errors.Is(err, fault.ErrStale) }

// scratch holds buffers for stored bytes that are decoded into others.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// readSubchunk reads and decodes subchunk i of a shard, n bytes of elements
// in memory. Those of a variable length are not told from each other: their
// arena is gone.
func (a *Array) readSubchunk(ctx context.Context, x *ShardIndex, i, n int64, dst []byte) ([]byte, error) {
	from := a.object(x)
	off, stored, ok := x.at(i)
	if !ok {
		if err := from.check(ctx); err != nil {
			return nil, err
		}
		out := buffer(dst, n)
		fillAll(out, a.meta.fill)
		return out, nil
	}
	c := a.shards.inner
	if max, fixed := c.encodedSize(a.shards.sub); fixed && stored != max {
		return nil, wrongLength(off, stored, max)
	}
	if err := a.o.Limits.check("stored subchunk", stored, true); err != nil {
		return nil, err
	}
	ar := newArena(a.meta.elem.variable, a.meta.fill)
	order := a.meta.codecs.order
	if !c.copies && order == nil { // decoding gives back the buffer that was read into
		buf := buffer(dst, stored)
		if err := from.readInto(ctx, off, buf); err != nil {
			return nil, err
		}
		return a.decoded(ctx, c, ar, nil, buf, a.shards.sub) // never into buf: a foreign codec may write before it has read
	}
	p := scratch.Get().(*[]byte)
	defer scratch.Put(p)
	*p = buffer(*p, stored)
	if err := from.readInto(ctx, off, *p); err != nil {
		return nil, err
	}
	if order == nil {
		return a.decoded(ctx, c, ar, buffer(dst, n), *p, a.shards.sub)
	}
	b, err := a.decoded(ctx, c, ar, nil, *p, a.shards.sub)
	if err != nil {
		return nil, err
	}
	return transposition{order, a.meta.elem}.decode(ctx, dst, b, a.subEdge)
}

// decoded decodes, and tells the trace.
func (a *Array) decoded(ctx context.Context, c *chain, ar *arena, dst, b []byte, shape []int64) ([]byte, error) {
	began := a.o.Trace.Now()
	out, err := c.decode(ctx, ar, dst, b, shape)
	a.o.Trace.Done(storage.Decoded, "", int64(len(out)), began, err)
	return out, err
}

// subchunkOfChunk reads a subchunk as a region: of a chunk that has to be read
// whole, since bytes codecs lie around the shard or the array is not sharded,
// or of elements of variable length.
func (a *Array) subchunkOfChunk(ctx context.Context, idx []int64, o ReadOptions) ([]byte, error) {
	if a.shards == nil {
		return a.RetrieveChunk(ctx, idx, o)
	}
	start, stop := a.subchunkBounds(idx)
	return a.box(ctx, start, stop, o)
}

// subchunkBounds are the first element of a subchunk and the end of it.
func (a *Array) subchunkBounds(idx []int64) (start, stop []int64) {
	start, stop = make([]int64, len(idx)), make([]int64, len(idx))
	for i, x := range idx {
		start[i] = x * a.subEdge[i]
		stop[i] = start[i] + a.subEdge[i]
	}
	return start, stop
}

// RetrieveEncodedSubchunk returns the bytes of a subchunk as they are stored,
// nil if it is not stored. DecodeSubchunk decodes them. Of an array that is
// not sharded it returns a stored chunk. Errors are those of RetrieveSubchunk,
// and ErrUnsupported for an array whose shards are not stored as they are
// (IsSharded, but not IsExclusivelySharded).
func (a *Array) RetrieveEncodedSubchunk(ctx context.Context, idx []int64, o ReadOptions) ([]byte, error) {
	at, err := a.locate(idx, o)
	if err != nil {
		return nil, err
	}
	if a.shards == nil {
		b, err := a.chunk(idx).all(ctx, a.o.Limits.chunk(), a.meta.codecs.decoded(a.meta.grid.chunkShape(idx)))
		if errors.Is(err, fault.ErrNotFound) {
			return nil, nil
		}
		return b, err
	}
	if err := a.mustBeExclusive(); err != nil {
		return nil, err
	}
	for attempt := 0; ; attempt++ {
		x, err := a.index(ctx, at, o, attempt)
		if err != nil {
			return nil, err
		}
		from := a.object(x)
		off, n, ok := x.at(at.inner)
		if err := a.o.Limits.check("stored subchunk", n, true); err != nil {
			return nil, err
		}
		var out []byte
		if ok {
			out = buffer(o.Dst, n)
			err = from.readInto(ctx, off, out)
		} else {
			err = from.check(ctx)
		}
		if err == nil {
			return out, nil
		}
		if !again(err, attempt) {
			return nil, a.subchunkError(err, x.key, idx)
		}
	}
}

// DecodeSubchunk decodes what RetrieveEncodedSubchunk returned. dst is used
// if it is large enough; the result may share memory with encoded.
func (a *Array) DecodeSubchunk(ctx context.Context, encoded, dst []byte) ([]byte, error) {
	c, shape := a.meta.codecs, a.subEdge
	if a.shards != nil {
		if err := a.mustBeExclusive(); err != nil {
			return nil, err
		}
		c, shape = a.shards.inner, a.shards.sub
	}
	if err := a.o.Limits.check("subchunk", c.size(shape), true); err != nil {
		return nil, err
	}
	ar := newArena(c.elem.variable, a.meta.fill)
	if ar == nil {
		return a.decoded(ctx, c, nil, dst, encoded, shape)
	}
	cells, err := a.decoded(ctx, c, ar, nil, encoded, shape)
	if err != nil {
		return nil, err
	}
	return ar.flatten(cells, dst, a.o.Limits.chunk())
}

// Location is where stored bytes lie.
type Location struct {
	Key     string
	Off     int64 // in the object; 0 for an array that is not sharded
	Len     int64 // -1: to the end of the object
	Version storage.Version
	Raw     bool // what is stored there are the elements themselves: C order, little endian
}

// Locate says where a subchunk is stored; false if it is not stored. Errors
// are those of RetrieveEncodedSubchunk. For an array that is not sharded it
// does not look whether the chunk exists.
func (a *Array) Locate(ctx context.Context, idx []int64, o ReadOptions) (Location, bool, error) {
	at, err := a.locate(idx, o)
	if err != nil {
		return Location{}, false, err
	}
	if a.shards == nil {
		return Location{Key: a.ChunkKey(idx), Len: -1, Raw: a.meta.codecs.raw()}, true, nil
	}
	if err := a.mustBeExclusive(); err != nil {
		return Location{}, false, err
	}
	x, err := a.index(ctx, at, o, 0)
	if err == nil {
		if _, _, ok := x.at(at.inner); !ok && again(a.object(x).check(ctx), 0) {
			x, err = a.index(ctx, at, o, 1)
		}
	}
	if err != nil {
		return Location{}, false, err
	}
	l := Location{Key: x.key, Version: x.info.Version, Raw: a.shards.inner.raw()}
	var ok bool
	l.Off, l.Len, ok = x.at(at.inner)
	if n := a.meta.codecs.size(a.shards.sub); ok && l.Raw && l.Len != n {
		return Location{}, false, a.subchunkError(wrongLength(l.Off, l.Len, n), x.key, idx)
	}
	return l, ok, nil
}

// wrongLength is the error for stored bytes that are more or fewer than
// their codecs always make.
func wrongLength(off, have, want int64) error {
	return fault.At(fault.ErrCorrupt, "bytes", "", off, "has "+itoa(have)+" bytes, want "+itoa(want))
}

// ShardIndex returns the index of the shard at a place in the chunk grid.
// Errors are those of RetrieveEncodedSubchunk; ErrUnsupported if the array is
// not sharded.
func (a *Array) ShardIndex(ctx context.Context, shard []int64, o ReadOptions) (*ShardIndex, error) {
	if err := o.Cache.check(a); err != nil {
		return nil, err
	}
	if err := a.checkIndex(shard, a.grid); err != nil {
		return nil, err
	}
	if err := a.mustBeExclusive(); err != nil {
		return nil, err
	}
	return a.index(ctx, place{shard: linear(shard, a.grid)}, o, 0)
}

func (a *Array) mustBeExclusive() error {
	if a.IsExclusivelySharded() {
		return nil
	}
	return fault.New(fault.ErrUnsupported, "zarr", "/"+a.path, "subchunks are not stored by themselves: the array is not exclusively sharded")
}

// subchunkError says which subchunk a failure belongs to.
func (a *Array) subchunkError(err error, key string, idx []int64) error {
	if err == nil || fault.CodeOf(err) == fault.CodeCancelled {
		return err
	}
	return &fault.Error{Format: "zarr", Item: key + " subchunk " + tuple(idx), Off: -1, Err: err}
}
