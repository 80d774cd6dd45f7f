package host

import (
	"context"
	"encoding/binary"

	"github.com/gridhold/gridhold/sdk/cache"
	"github.com/gridhold/gridhold/sdk/storage"
)

// sharedBudget is how many bytes are kept for all instances of a pool.
const sharedBudget = 64 << 20

// shared keeps what several instances ask for: each has a heap of its own, but
// a shard's index is to be loaded once for all of them.
type shared struct {
	kept *cache.Cache[sharedKey, sharedRead]
}

type sharedKey struct {
	store       uint32
	key, ranges string
	want        storage.Version
}

// sharedRead is what a store answered. It is only read.
type sharedRead struct {
	parts [][]byte
	info  storage.ObjectInfo
}

func newShared() shared {
	return shared{cache.New[sharedKey](sharedBudget, func(r sharedRead) int64 {
		n := int64(256) // for what surrounds them, about
		for _, b := range r.parts {
			n += int64(len(b)) + 24
		}
		return n
	})}
}

// read is storage.ReadShared for one of several instances.
func (s *shared) read(ctx context.Context, id uint32, st storage.Store, key string, rs []storage.Range, want storage.Version, reload bool) ([][]byte, storage.ObjectInfo, error) {
	k := sharedKey{store: id, key: key, want: want}
	var b []byte
	for _, r := range rs {
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, uint64(r.Off)), uint64(r.Len))
	}
	k.ranges = string(b)
	if reload {
		s.kept.RemoveIf(k, func(sharedRead) bool { return true })
	}
	r, err := s.kept.Get(ctx, k, func(ctx context.Context) (r sharedRead, err error) {
		r.parts, r.info, err = storage.ReadShared(ctx, st, key, rs, want, reload)
		return r, err
	})
	return r.parts, r.info, err
}

// drop forgets a store that is not used any more.
func (s *shared) drop(id uint32) { s.kept.Remove(func(k sharedKey) bool { return k.store == id }) }
