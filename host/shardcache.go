package host

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/cache"
	"github.com/gridhold/gridhold/wasm/wire"
)

// CacheOptions are those of Array.ShardCache.
type CacheOptions struct {
	Budget          int64 // bytes, of all instances together; 0: an eighth of the memory of each. One keeps at most a quarter of its memory
	RememberMissing bool  // keep that a shard was missing
}

// ShardCache is a cache of shard indexes in the guest's memory; see
// [zarr.ShardCache]. Each instance has a part of its own, which lasts as long
// as that: after the guest has died it is empty, with its counts at zero. Of
// arrays whose codecs are lent, the host keeps tables of where subchunks lie,
// within the same budget once more, by which it serves warm reads itself.
type ShardCache struct {
	array  *Array
	o      CacheOptions
	tables *tables       // for reads that need no guest
	share  atomic.Uint64 // its number among what is shared
	closed atomic.Bool
}

// ShardCache makes an empty cache for this array. It is closed with it.
func (a *Array) ShardCache(o CacheOptions) *ShardCache {
	budget := o.Budget
	if budget == 0 {
		budget = a.sandbox.config.Memory / 8
	}
	c := &ShardCache{array: a, o: o, tables: cache.New[int64](budget, (*table).bytes)}
	a.sandbox.shared.renew(c)
	return c
}

// within is the array: a cache is closed with it.
func (c *ShardCache) within() opener { return c.array.node }

func (c *ShardCache) openOn(ctx context.Context, in *instance) (uint32, error) {
	if c.closed.Load() || c.array.closed.Load() {
		return 0, errClosed("array")
	}
	h, err := in.handle(ctx, c.array.node)
	if err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	var flags uint32
	if c.o.RememberMissing {
		flags = wire.FlagRememberMissing
	}
	budget := c.o.Budget
	if n := int64(len(in.sandbox.pool.slots)); budget > 0 {
		budget = max(budget/n, 1)
	}
	req := le.AppendUint64(le.AppendUint32(le.AppendUint32(nil, h), flags), uint64(budget))
	r, err := in.do(ctx, wire.KindCacheNew, req, nil)
	return r.object, err
}

// Stats counts hits, misses, loads, and what is kept, on all instances.
func (c *ShardCache) Stats(ctx context.Context) (all cache.Stats, err error) {
	err = c.each(ctx, wire.KindCacheStats, nil, func(r reply) error {
		var s cache.Stats
		if err := json.Unmarshal(r.bytes, &s); err != nil {
			return internal("answers what is not JSON")
		}
		all.Hits, all.Misses, all.Loads = all.Hits+s.Hits, all.Misses+s.Misses, all.Loads+s.Loads
		all.Entries, all.Bytes, all.Budget = all.Entries+s.Entries, all.Bytes+s.Bytes, all.Budget+s.Budget
		return nil
	})
	mine := c.tables.Stats() // whose loads the guest has counted
	all.Hits, all.Misses = all.Hits+mine.Hits, all.Misses+mine.Misses-mine.Loads
	return all, err
}

// Len is the number of indexes that are kept.
func (c *ShardCache) Len(ctx context.Context) (int, error) {
	s, err := c.Stats(ctx)
	return int(s.Entries), err
}

// Clear drops every index.
func (c *ShardCache) Clear(ctx context.Context) error {
	c.forget()
	return c.each(ctx, wire.KindCacheClear, nil, nil)
}

// forget drops what the host keeps.
func (c *ShardCache) forget() {
	c.tables.Clear()
	c.array.sandbox.shared.renew(c)
}

// Invalidate drops the index of the shard at a place in the chunk grid.
func (c *ShardCache) Invalidate(ctx context.Context, shard []int64) error {
	tail := binary.LittleEndian.AppendUint32(nil, uint32(len(shard)))
	if grid := c.array.info.ChunkGridShape; len(shard) == len(grid) {
		n := int64(0)
		for i, x := range shard {
			n = n*grid[i] + x
		}
		c.drop(n)
	}
	c.array.sandbox.shared.renew(c)
	return c.each(ctx, wire.KindCacheInvalidate, appendDims(tail, shard), nil)
}

// Close frees the cache. Closing twice is fine.
func (c *ShardCache) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	c.forget()
	c.array.sandbox.end(c, func() {})
	return nil
}

// each carries out an operation whose request is the cache's handle and tail,
// on every instance on which the array is open: on one at least.
func (c *ShardCache) each(ctx context.Context, kind uint32, tail []byte, take func(reply) error) error {
	in, _, err := c.array.enter(ctx, c)
	if err != nil {
		return err
	}
	c.array.sandbox.put(in)
	return c.array.sandbox.visit(ctx, c.array.node, func(in *instance) error {
		h, err := in.handle(ctx, c)
		if err != nil {
			return err
		}
		r, err := in.do(ctx, kind, append(binary.LittleEndian.AppendUint32(nil, h), tail...), nil)
		if err == nil && take != nil {
			err = take(r)
		}
		return err
	})
}
