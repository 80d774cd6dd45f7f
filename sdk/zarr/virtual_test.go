package zarr_test

import (
	"context"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// virtual is a store with one shard of any size, whose bytes are computed:
// an index at the end, and before it bytes that follow from their offsets.
type virtual struct {
	meta    []byte
	size    int64
	offsets []uint64 // of the subchunks, two bytes each
}

func (v *virtual) ReadRanges(_ context.Context, key string, rs []storage.Range, _ storage.Version) ([][]byte, storage.ObjectInfo, error) {
	if key == "zarr.json" {
		return [][]byte{v.meta}, storage.ObjectInfo{Size: int64(len(v.meta))}, nil
	}
	if key != "c/0" {
		return nil, storage.ObjectInfo{}, fault.New(fault.ErrNotFound, "store", key, "")
	}
	var entries []uint64
	for _, o := range v.offsets {
		n := uint64(2)
		if o == 1<<64-1 {
			n = o
		}
		entries = append(entries, o, n)
	}
	index := endCRC.index(entries)
	var out [][]byte
	for _, r := range rs {
		if r.Off < 0 {
			r.Off = v.size - r.Len
		}
		b := make([]byte, r.Len)
		for i := range b {
			off := r.Off + int64(i)
			if in := off - (v.size - int64(len(index))); in >= 0 {
				b[i] = index[in]
			} else {
				b[i] = virtualByte(uint64(off))
			}
		}
		out = append(out, b)
	}
	return out, storage.ObjectInfo{Size: v.size}, nil
}
