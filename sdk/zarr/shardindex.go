package zarr

import (
	"context"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// ShardIndex says where the subchunks of one shard lie. It is immutable and
// may be used concurrently.
type ShardIndex struct {
	key     string
	missing bool
	packed  bool  // from an IndexPack, so older than the reader
	origin  int64 // offset of the shard's value in the object; above 0 for a shard in a shard
	info    storage.ObjectInfo
	entries entries
}

// Key is the key of the object that holds the shard.
func (x *ShardIndex) Key() string { return x.key }

// Missing reports whether there is no such object: every element of the
// shard is the fill value. Such an index has no entries.
func (x *ShardIndex) Missing() bool { return x.missing }

// Packed reports whether the index came from an IndexPack: where it says that
// a subchunk is not stored, that was so when the pack was built.
func (x *ShardIndex) Packed() bool { return x.packed }

// Len is the number of entries: subchunks of the shard, also those beyond
// the array's edge. 0 if the shard is missing.
func (x *ShardIndex) Len() int { return int(x.entries.len()) }

// Size is the size of the object in bytes, -1 where the store does not tell.
func (x *ShardIndex) Size() int64 { return x.info.Size }

// Version is the version of the object that the index came from.
func (x *ShardIndex) Version() storage.Version { return x.info.Version }

// At returns the bytes that hold subchunk i (C order within the shard): n
// bytes from off in the object. ok is false for a subchunk that is not
// stored, whose elements are the fill value.
//
// It panics if i is not in [0, Len()) of a shard that is not missing.
func (x *ShardIndex) At(i int) (off, n int64, ok bool) { return x.at(int64(i)) }

func (x *ShardIndex) at(i int64) (off, n int64, ok bool) {
	if x.missing {
		return 0, 0, false
	}
	o, m := x.entries.at(i)
	if o == empty {
		return 0, 0, false
	}
	return x.origin + int64(o), int64(m), true
}

// cost is what the index takes in a cache.
func (x *ShardIndex) cost() int64 { return int64(len(x.entries.b) + len(x.key) + 256) }

// parseIndex decodes the stored bytes of an index and checks every entry:
// both numbers are "empty" or neither is; offset + length neither overflows
// nor passes the end of the value, nor does it reach into the index. size is
// that of the value, -1 if it is not known. Wide entries may share memory with b.
func (s *sharding) parseIndex(ctx context.Context, b []byte, l layout, size int64) (entries, error) {
	if int64(len(b)) != l.indexSize {
		return entries{}, fault.New(fault.ErrCorrupt, "shard index", "", "has "+itoa(int64(len(b)))+" bytes, want "+itoa(l.indexSize))
	}
	shape := append(append(make([]int64, 0, len(l.per)+1), l.per...), 2)
	flat, err := s.index.decode(ctx, nil, nil, b, shape)
	if err != nil {
		return entries{}, &fault.Error{Format: "shard index", Off: -1, Err: err}
	}
	lo, hi := s.within(l, size)
	all := entries{b: flat, wide: true}
	if hi < narrowEmpty {
		all = newEntries(l.count, hi)
	}
	return all, all.fill(0, flat, lo, hi)
}

// within is where the subchunks of a shard may lie: not in its index, not
// behind its end. size is that of the value, -1 if it is not known.
func (s *sharding) within(l layout, size int64) (lo, hi uint64) {
	hi = uint64(1<<63 - 1)
	if size >= 0 {
		hi = uint64(size)
	}
	if s.atStart {
		lo = uint64(l.indexSize)
	} else if size >= 0 {
		hi -= min(hi, uint64(l.indexSize))
	}
	return lo, hi
}
