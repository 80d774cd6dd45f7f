package host

import (
	"context"
	"encoding/binary"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/cache"
	"github.com/gridhold/gridhold/sdk/storage"
)

// sharedBudget is how many bytes are kept for all instances of a pool.
const sharedBudget = 64 << 20

// shared keeps what several instances ask for: each has a heap of its own, but
// a shard's index is to be loaded once for all of them. It belongs to a cache of
// shards, and goes with what that holds.
type shared struct {
	kept   *cache.Cache[sharedKey, sharedRead]
	number *atomic.Uint64 // of a cache, the last
}

type sharedKey struct {
	store       uint32
	cache       uint64 // by which it is read, as it was numbered last
	key, ranges string
	want        storage.Version
}

// sharedRead is what a store answered. It is only read.
type sharedRead struct {
	parts [][]byte
	info  storage.ObjectInfo
}

func newShared() shared {
	return shared{number: new(atomic.Uint64), kept: cache.New[sharedKey](sharedBudget, func(r sharedRead) int64 {
		n := int64(256) // for what surrounds them, about
		for _, b := range r.parts {
			n += int64(len(b)) + 24
		}
		return n
	})}
}

// read is storage.ReadShared for one of several instances, by a cache.
func (s *shared) read(ctx context.Context, by *ShardCache, id uint32, st storage.Store, key string, rs []storage.Range, want storage.Version, reload bool) ([][]byte, storage.ObjectInfo, error) {
	k := sharedKey{store: id, cache: by.share.Load(), key: key, want: want}
	var b []byte
	for _, r := range rs {
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, uint64(r.Off)), uint64(r.Len))
	}
	k.ranges = string(b)
	if reload {
		s.kept.Remove(func(x sharedKey) bool { return x == k })
	}
	r, err := s.kept.Get(ctx, k, func(ctx context.Context) (r sharedRead, err error) {
		r.parts, r.info, err = storage.ReadShared(ctx, st, key, rs, want, reload)
		return r, err
	})
	return r.parts, r.info, err
}

// renew gives a cache a new number: what was read by its old one is of no use
// any more, also where that is on its way.
func (s *shared) renew(c *ShardCache) {
	if old := c.share.Swap(s.number.Add(1)); old != 0 {
		s.kept.Remove(func(k sharedKey) bool { return k.cache == old })
	}
}

// drop forgets a store that is not used any more.
func (s *shared) drop(id uint32) { s.kept.Remove(func(k sharedKey) bool { return k.store == id }) }
