package host

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/cache"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/wasm/wire"
)

// CacheOptions are those of Array.ShardCache.
type CacheOptions struct {
	Budget          int64 // bytes; 0: an eighth of the guest's memory. The guest keeps at most a quarter
	RememberMissing bool  // keep that a shard was missing
}

// ShardCache is a cache of shard indexes in the guest's memory; see
// [zarr.ShardCache]. It lasts as long as the instance that holds it: after
// the guest has died it is empty, with its counts at zero.
type ShardCache struct {
	array  *Array
	o      CacheOptions
	closed atomic.Bool
}

// ShardCache makes an empty cache for this array. It is closed with it.
func (a *Array) ShardCache(o CacheOptions) *ShardCache { return &ShardCache{array: a, o: o} }

func (c *ShardCache) openOn(ctx context.Context, in *instance) (uint32, error) {
	if c.array.closed.Load() {
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
	req := le.AppendUint64(le.AppendUint32(le.AppendUint32(nil, h), flags), uint64(c.o.Budget))
	r, err := in.do(ctx, wire.KindCacheNew, req, nil)
	return r.object, err
}

// Stats counts hits, misses, loads, and what is kept.
func (c *ShardCache) Stats(ctx context.Context) (cache.Stats, error) {
	var s cache.Stats
	r, err := c.do(ctx, wire.KindCacheStats, nil)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(r.bytes, &s); err != nil {
		return s, internal("answers what is not JSON")
	}
	return s, nil
}

// Len is the number of indexes that are kept.
func (c *ShardCache) Len(ctx context.Context) (int, error) {
	s, err := c.Stats(ctx)
	return int(s.Entries), err
}

// Clear drops every index.
func (c *ShardCache) Clear(ctx context.Context) error {
	_, err := c.do(ctx, wire.KindCacheClear, nil)
	return err
}

// Invalidate drops the index of the shard at a place in the chunk grid.
func (c *ShardCache) Invalidate(ctx context.Context, shard []int64) error {
	tail := binary.LittleEndian.AppendUint32(nil, uint32(len(shard)))
	_, err := c.do(ctx, wire.KindCacheInvalidate, appendDims(tail, shard))
	return err
}

// Close frees the cache. Closing twice is fine.
func (c *ShardCache) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	s := c.array.sandbox
	in, err := s.take(context.Background())
	if err != nil {
		if errors.Is(err, fault.ErrClosed) {
			return nil
		}
		return err
	}
	defer s.put(in)
	in.forget(c)
	return nil
}

// do carries out an operation whose request is the cache's handle and tail.
func (c *ShardCache) do(ctx context.Context, kind uint32, tail []byte) (reply, error) {
	in, _, err := c.array.enter(ctx, c)
	if err != nil {
		return reply{}, err
	}
	defer c.array.sandbox.put(in)
	h, err := in.handle(ctx, c)
	if err != nil {
		return reply{}, err
	}
	return in.do(ctx, kind, append(binary.LittleEndian.AppendUint32(nil, h), tail...), nil)
}
