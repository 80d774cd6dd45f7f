package zarr

import (
	"context"
	"encoding/json"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Options are those of opening. The zero value is the advice.
type Options struct {
	Limits Limits                      // zero: the defaults
	Codecs CodecSource                 // asked before those of UseCodecs and the built-in ones; nil: none
	Tick   func(context.Context) error // called between chunks of a long read; an error ends it. nil: none
	Trace  storage.Trace               // told what reads cost: calls to the store, index loads, waits, decoding. nil: none
	// IndexPack has the shards' indexes, so that they need not be loaded; nil:
	// none. Opening an array that it is not for is ErrWrongArray.
	IndexPack *IndexPack
	// SubchunkOrder is how a writer lays the subchunks of a shard out; readers
	// do not care.
	SubchunkOrder SubchunkOrder
	// Consolidated trusts the consolidated metadata of groups, which can be
	// out of date: their nodes are found and opened without asking the store.
	Consolidated bool
}

// SubchunkOrder is the order of subchunks in a shard.
type SubchunkOrder int

const (
	COrder      SubchunkOrder = iota // the last axis runs fastest
	MortonOrder                      // along a Z-shaped curve: neighbours on all axes lie near each other
)

// Limits bound what metadata may ask for, since an attacker may have written
// it. More is ErrLimit.
type Limits struct {
	Index int64 // bytes of a shard's index; 0: 256 MiB
	Chunk int64 // bytes of one decoded or stored chunk, subchunk or region; 0: 2 GiB
}

func (l Limits) index() int64 {
	if l.Index == 0 {
		return 256 << 20
	}
	return min(l.Index, maxAlloc)
}

func (l Limits) chunk() int64 {
	if l.Chunk == 0 {
		return maxAlloc
	}
	return min(l.Chunk, maxAlloc)
}

func (l Limits) check(what string, n int64, ok bool) error {
	if !ok {
		return fault.New(fault.ErrLimit, "zarr", what, "has more than 2^63 bytes")
	}
	if n > l.chunk() {
		return fault.New(fault.ErrLimit, "zarr", what, "has "+itoa(n)+" bytes, over the limit of "+itoa(l.chunk()))
	}
	return nil
}

// Array is an array of a store, opened for reading. Its methods may be
// called concurrently. It holds no resources and needs no closing. The
// slices that its methods return must not be changed.
type Array struct {
	identity
	o       Options
	meta    *metadata
	shards  *sharding // nil if the array is not sharded
	byRange bool      // subchunks are read by range: no bytes codec around the shard
	subEdge []int64   // effective subchunk shape; the chunk shape if not sharded
	subGrid []int64
	pack    *packedArray // the array's part of Options.IndexPack, or nil
	steps   []int64      // how far apart in a shard's index neighbours along an axis are
}

func newArray(st storage.Store, path string, m *metadata, o Options) *Array {
	uniform, _ := m.grid.(regular)
	a := &Array{o: o, meta: m, shards: m.codecs.sharding(), subEdge: uniform.chunk, subGrid: m.grid.shape()}
	a.identity = identity{store: st, path: path, metadata: string(m.raw), grid: m.grid.shape()}
	if a.shards != nil {
		a.byRange = len(m.codecs.bytes) == 0
		a.subEdge = permute(a.shards.sub, invert(m.codecs.order))
		a.subGrid = gridShape(m.shape, a.subEdge)
		if uniform.chunk != nil || len(m.shape) == 0 {
			a.steps = permute(cOrder(nil, a.shards.regular.per, 1).stride, invert(m.codecs.order))
		}
	}
	return a
}

// Kind is "array".
func (a *Array) Kind() string { return "array" }

// Path is the path of the array in its store, "" for the root.
func (a *Array) Path() string { return a.path }

// Store is the store that the array was opened in.
func (a *Array) Store() storage.Store { return a.store }

// Shape is the array's shape in elements; empty for an array of one element
// without axes.
func (a *Array) Shape() []int64 { return a.meta.shape }

// DataType is the type of the elements.
func (a *Array) DataType() DataType { return a.meta.dtype }

// FillValue is the bytes of one element that was never written.
func (a *Array) FillValue() []byte { return a.meta.fill }

// Metadata is the text of zarr.json as it was read.
func (a *Array) Metadata() []byte { return a.meta.raw }

// Attributes is the JSON object of the user's attributes.
func (a *Array) Attributes() json.RawMessage { return a.meta.attributes }

// DimensionNames has a name an axis, "" where there is none; nil if the
// array names none.
func (a *Array) DimensionNames() []string { return a.meta.names }

// ChunkShape is the shape of a chunk in elements: of a shard, if the array
// is sharded. It is nil where chunks differ in shape; see ChunkShapeAt.
func (a *Array) ChunkShape() []int64 {
	uniform, _ := a.meta.grid.(regular)
	return uniform.chunk
}

// ChunkShapeAt is the shape of the chunk (shard) at a place in the chunk
// grid. It panics if the place is not in the grid.
func (a *Array) ChunkShapeAt(idx []int64) []int64 { return a.meta.grid.chunkShape(idx) }

// ChunkGridShape counts the chunks (shards) per axis.
func (a *Array) ChunkGridShape() []int64 { return a.grid }

// IsSharded reports whether chunks are shards.
func (a *Array) IsSharded() bool { return a.shards != nil }

// IsExclusivelySharded reports whether sharding is the only codec of the
// array, so that a subchunk is stored alone as its own codecs made it and in
// the array's own order of axes.
func (a *Array) IsExclusivelySharded() bool {
	return a.shards != nil && a.byRange && a.meta.codecs.order == nil
}

// SubchunkShape is the shape of a subchunk as the sharding codec names it,
// nil if the array is not sharded. With a transposition before sharding its
// axes are those of the transposed array; see EffectiveSubchunkShape. Of a
// shard that holds shards it is the outermost level's.
func (a *Array) SubchunkShape() []int64 {
	if a.shards == nil {
		return nil
	}
	return a.shards.sub
}

// EffectiveSubchunkShape is the shape of what RetrieveSubchunk returns, in
// the array's own order of axes. If the array is not sharded, it is the chunk
// shape, nil where chunks differ.
func (a *Array) EffectiveSubchunkShape() []int64 { return a.subEdge }

// SubchunkGridShape counts per axis the subchunks that hold elements of the
// array: ceil(shape / effective subchunk shape). If the array is not sharded,
// it is the chunk grid.
func (a *Array) SubchunkGridShape() []int64 { return a.subGrid }

// ChunkKey is the key of the chunk at a place in the chunk grid.
func (a *Array) ChunkKey(idx []int64) string { return a.meta.keys.key(prefixOf(a.path), idx) }

// checkIndex refuses an index with the wrong number of axes (ErrInvalid) or
// outside a grid (ErrOutOfRange).
func (a *Array) checkIndex(idx, grid []int64) error {
	if len(idx) != len(grid) {
		return fault.New(fault.ErrInvalid, "zarr", "/"+a.path, "index has "+itoa(int64(len(idx)))+" axes, the array "+itoa(int64(len(grid))))
	}
	if !inside(idx, grid) {
		return fault.New(fault.ErrOutOfRange, "zarr", "/"+a.path, "index "+tuple(idx)+" is outside the grid "+tuple(grid))
	}
	return nil
}

// chunk is the source of the chunk at a place in the chunk grid.
func (a *Array) chunk(idx []int64) source {
	return source{store: a.store, key: a.ChunkKey(idx), size: -1, trace: a.o.Trace}
}

// shardRef names the shard at a place in the chunk grid. fresh asks for an
// index that the store has not kept.
func (a *Array) shardRef(idx []int64, fresh bool) shardRef {
	c := a.meta.codecs
	return shardRef{
		codec: a.shards, shape: permute(a.meta.grid.chunkShape(idx), c.order), from: a.chunk(idx),
		key: indexKey{shard: linear(idx, a.grid)}, pack: a.pack, fresh: fresh,
	}
}
