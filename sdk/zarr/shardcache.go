package zarr

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/cache"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// CacheOptions are those of Array.ShardCache. The zero value is the advice.
type CacheOptions struct {
	Budget          int64 // bytes of indexes to keep; 0: 256 MiB. An index takes 8 bytes a subchunk, of a shard above 4 GiB 16
	RememberMissing bool  // keep that a shard was missing, until Invalidate or Clear
}

const defaultBudget = 256 << 20

// ShardCache keeps the indexes of one array's shards, so that a subchunk
// costs one range. It belongs to its array; another array's reads refuse it
// with ErrWrongArray. The same array opened twice may share it.
//
// An index is loaded once however many readers wait for it, outside every
// lock, and carries the version of the object that it came from: where the
// store knows versions, a shard that was replaced is noticed, its index is
// loaded anew, and the read is tried once more. A subchunk that is not stored
// according to a kept index is asked for only of stores that tell cheaply
// whether the shard is still the same (storage.Checker: directories, memory).
// Of others, and of a missing shard that is remembered, call Invalidate or
// Clear after a write; also after any change where the store knows no versions.
type ShardCache struct {
	array    identity
	remember bool
	indexes  *cache.Cache[indexKey, *ShardIndex]
}

// indexKey names an index: the shard's place in the grid and, for a shard
// within a shard, the places on the way down, eight bytes each.
type indexKey struct {
	shard int64
	path  string
}

// ShardCache makes an empty cache for this array.
func (a *Array) ShardCache(o CacheOptions) *ShardCache {
	if o.Budget == 0 {
		o.Budget = defaultBudget
	}
	c := &ShardCache{array: a.identity, remember: o.RememberMissing}
	c.indexes = cache.New[indexKey](o.Budget, func(x *ShardIndex) int64 {
		if x.missing && !c.remember {
			return -1
		}
		return x.cost()
	})
	return c
}

// Stats counts hits, misses, loads, and what is kept.
func (c *ShardCache) Stats() cache.Stats { return c.indexes.Stats() }

// Len is the number of indexes that are kept.
func (c *ShardCache) Len() int { return int(c.Stats().Entries) }

// Clear drops every index. A load on its way answers those who wait for it
// and is not kept.
func (c *ShardCache) Clear() { c.indexes.Clear() }

// Invalidate drops the indexes of the shard at a place in the chunk grid; a
// place outside the grid names none.
func (c *ShardCache) Invalidate(shard []int64) {
	if len(shard) != len(c.array.grid) || !inside(shard, c.array.grid) {
		return
	}
	c.drop(linear(shard, c.array.grid))
}

func (c *ShardCache) drop(shard int64) {
	c.indexes.Remove(func(k indexKey) bool { return k.shard == shard })
}

// identity is what makes an array the same array.
type identity struct {
	store    storage.Store
	path     string
	metadata string
	grid     []int64
}

// check refuses the reads of another array. No cache suits every array.
func (c *ShardCache) check(a *Array) error {
	if c == nil {
		return nil
	}
	if c.array.path != a.identity.path || c.array.metadata != a.identity.metadata || !storage.Same(c.array.store, a.identity.store) {
		return fault.New(fault.ErrWrongArray, "zarr", "/"+a.path, "the shard cache was made for /"+c.array.path)
	}
	return nil
}

// shardRef names a shard and says where to find it.
type shardRef struct {
	codec *sharding
	shape []int64
	from  source
	key   indexKey
	pack  *packedArray // nil: none
	fresh bool         // load nothing that the store has kept
}

// below is the reference to a shard that is subchunk i of this one.
func (r shardRef) below(inner *sharding, i int64, from source) shardRef {
	var b strings.Builder
	b.WriteString(r.key.path)
	for k := range 8 {
		b.WriteByte(byte(i >> (8 * k)))
	}
	return shardRef{codec: inner, shape: permute(r.codec.sub, r.codec.inner.order), from: from, key: indexKey{r.key.shard, b.String()}, fresh: r.fresh}
}

// shardIndex returns the index of a shard, from the cache if there is one.
func shardIndex(ctx context.Context, c *ShardCache, ref shardRef) (*ShardIndex, error) {
	if c == nil || ref.from.store == nil {
		return loadIndex(ctx, ref)
	}
	if x, ok := c.indexes.Peek(ref.key); ok {
		return x, nil
	}
	return c.load(ctx, ref)
}

// load is shardIndex for an index that the cache lacks, or is about to have.
func (c *ShardCache) load(ctx context.Context, ref shardRef) (*ShardIndex, error) {
	var ours atomic.Bool // else another reader loads it, and we wait
	began := ref.from.trace.Now()
	x, err := c.indexes.Get(ctx, ref.key, func(ctx context.Context) (*ShardIndex, error) {
		ours.Store(true)
		return loadIndex(ctx, ref)
	})
	if !ours.Load() {
		ref.from.trace.Done(storage.Waited, ref.from.key, 0, began, nil)
	}
	if err != nil {
		if ended := storage.Ended(ctx, ref.from.key); ended != nil {
			return nil, ended // the cache gives the context's own error
		}
	}
	return x, err
}

// loadIndex gives an index out of the pack, or reads and parses it: one
// request.
func loadIndex(ctx context.Context, ref shardRef) (*ShardIndex, error) {
	s, from := ref.codec, ref.from
	l, err := s.layout(ref.shape)
	if err != nil {
		return nil, err
	}
	switch {
	case ref.pack == nil:
	case ref.fresh:
		ref.pack.outdate(ref.key.shard)
	default:
		if x, err := ref.pack.index(ref, l); x != nil || err != nil {
			return x, err
		}
	}
	if from.size >= 0 && from.size < l.indexSize {
		return nil, tooShort(from.key, from.size, l.indexSize)
	}
	x := &ShardIndex{key: from.key, origin: from.off, info: storage.ObjectInfo{Size: from.size, Version: from.version}}
	if ok, err := x.stream(ctx, ref, l); ok || err != nil {
		return x, err
	}
	var b []byte
	size := from.size
	switch {
	case from.store == nil:
		b = from.mem[:l.indexSize]
		if !s.atStart {
			b = from.mem[size-l.indexSize:]
		}
	case from.size >= 0:
		r := storage.Range{Off: from.off, Len: l.indexSize}
		if !s.atStart {
			r.Off += size - l.indexSize
		}
		b, x.info, err = readIndex(ctx, ref, r)
	default:
		r := storage.Range{Off: 0, Len: l.indexSize}
		if !s.atStart {
			r = storage.Suffix(l.indexSize)
		}
		b, x.info, err = readIndex(ctx, ref, r)
		size = x.info.Size
	}
	if errors.Is(err, fault.ErrNotFound) && from.size < 0 {
		x.missing = true
		return x, nil
	}
	if err != nil {
		return nil, err
	}
	if int64(len(b)) < l.indexSize {
		return nil, tooShort(from.key, int64(len(b)), l.indexSize)
	}
	if x.entries, err = s.parseIndex(ctx, b, l, size); err != nil {
		return nil, &fault.Error{Format: "zarr", Item: from.key, Off: -1, Err: err}
	}
	return x, nil
}

func readIndex(ctx context.Context, ref shardRef, r storage.Range) ([]byte, storage.ObjectInfo, error) {
	began := ref.from.trace.Now()
	bs, info, err := storage.ReadShared(ctx, ref.from.store, ref.from.key, []storage.Range{r}, ref.from.version, ref.fresh)
	ref.from.trace.Done(storage.Indexed, ref.from.key, total(bs), began, err)
	if err != nil {
		return nil, info, err
	}
	return bs[0], info, nil
}

func tooShort(key string, have, want int64) error {
	return fault.New(fault.ErrCorrupt, "zarr", key, "has "+itoa(have)+" bytes, its shard index alone has "+itoa(want))
}
