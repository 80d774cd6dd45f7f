package zarr

import (
	"context"
	"errors"
	"slices"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// source is the stored bytes of a chunk or of a shard within a shard:
// a range of an object, or bytes in memory.
type source struct {
	store   storage.Store // nil: in memory
	mem     []byte
	key     string
	off     int64 // of the value in the object
	size    int64 // of the value in bytes; -1: it is the whole object
	version storage.Version
	packed  bool // its index came from an IndexPack
	trace   storage.Trace
}

func inMemory(b []byte) source { return source{mem: b, size: int64(len(b))} }

// within is a part of the source as a source.
func (s source) within(off, n int64) source {
	if s.store == nil {
		return inMemory(s.mem[off : off+n : off+n])
	}
	s.off, s.size = off, n // offsets of an index count from the object, see ShardIndex.At
	return s
}

// all returns the whole value, which will decode to so many bytes: what has
// to make room before it reads is not asked for as much as the limit lets
// through. decoded < 0 is not known. ErrNotFound if there is no object.
func (s source) all(ctx context.Context, limit, decoded int64) ([]byte, error) {
	switch {
	case s.store == nil:
		return s.mem, nil
	case s.size < 0:
		most := limit
		if decoded >= 0 {
			decoded = min(decoded, limit)
			most = min(limit, decoded+decoded/8+64<<10) // codecs that fail to pack add little
		}
		for {
			bs, err := s.ranges(ctx, []storage.Range{{Off: 0, Len: most + 1}})
			switch {
			case err != nil:
				return nil, err
			case int64(len(bs[0])) <= most:
				return bs[0], nil
			case most == limit:
				return nil, fault.New(fault.ErrLimit, "zarr", s.key, "has more than "+itoa(limit)+" bytes")
			}
			most = limit
		}
	case s.size > limit:
		return nil, fault.New(fault.ErrLimit, "zarr", s.key, "has "+itoa(s.size)+" bytes, over the limit of "+itoa(limit))
	}
	buf := make([]byte, s.size)
	return buf, s.readInto(ctx, s.off, buf)
}

// readInto fills dst from off of the object.
func (s source) readInto(ctx context.Context, off int64, dst []byte) error {
	if s.store == nil {
		copy(dst, s.mem[off:])
		return nil
	}
	began := s.trace.Now()
	n, _, err := storage.ReadInto(ctx, s.store, s.key, off, dst, s.version)
	s.trace.Done(storage.Read, s.key, int64(n), began, err)
	if err != nil {
		return s.gone(err)
	}
	if n != len(dst) {
		return s.short(off+int64(n), int64(len(dst)), int64(n))
	}
	return nil
}

// readJoined reads into buf where one read does and the store can.
func (s source) readJoined(ctx context.Context, rs []storage.Range, buf *[]byte, f *fetch) ([][]byte, error) {
	if into, ok := s.store.(storage.BufferReader); ok && buf != nil && len(rs) == 1 {
		*buf = buffer(*buf, rs[0].Len)
		began := s.trace.Now()
		n, _, err := into.ReadInto(ctx, s.key, rs[0].Off, *buf, s.version)
		s.trace.Done(storage.Read, s.key, int64(n), began, err)
		f.one[0] = (*buf)[:n]
		return f.one[:], err
	}
	return s.ranges(ctx, rs)
}

// ranges reads from the store.
func (s source) ranges(ctx context.Context, rs []storage.Range) ([][]byte, error) {
	began := s.trace.Now()
	bs, _, err := s.store.ReadRanges(ctx, s.key, rs, s.version)
	s.trace.Done(storage.Read, s.key, total(bs), began, err)
	return bs, err
}

func total(bs [][]byte) (n int64) {
	for _, b := range bs {
		n += int64(len(b))
	}
	return n
}

// check makes sure that the object is still the one that its index came from,
// where nothing of it is read: an index says of a subchunk that it is empty,
// and is wrong once another writer has put it there. Only stores that can
// tell cheaply are asked; see ShardCache.
func (s source) check(ctx context.Context) error {
	if s.packed {
		return fault.New(fault.ErrStale, "zarr", s.key, "an index pack is no proof of what is not stored")
	}
	c, ok := s.store.(storage.Checker)
	if !ok || s.version == "" { // in memory, the store is nil and ok false
		return nil
	}
	return s.gone(c.Check(ctx, s.key, s.version))
}

// gone turns "not found" into ErrStale where ranges of the object were known:
// it was there when its index was read.
func (s source) gone(err error) error {
	if errors.Is(err, fault.ErrNotFound) {
		return fault.New(fault.ErrStale, "zarr", s.key, "was removed")
	}
	return err
}

func (s source) short(off, want, got int64) error {
	return fault.At(fault.ErrCorrupt, "zarr", s.key, off, "ends after "+itoa(got)+" of "+itoa(want)+" bytes")
}

// maxGap is how many bytes between two ranges are read rather than asked
// around. Kept small: it is for what writers leave between subchunks.
const maxGap = 512

// fetch is what read found, and room for how it did.
type fetch struct {
	out    [][]byte
	joined []storage.Range
	first  []int // of the ranges that a joined one covers
	one    [1][]byte
}

// read gives ranges of the object, which are in order of their offsets, to f.
// Neighbours are read as one and share a buffer: buf, if they are all
// neighbours and it is not nil. Who gives a buf gets it back, grown perhaps.
//
// A store that cannot read into a buffer gets the ranges as they are: a remote
// one has its own rule for gaps, and a largest request that is not to be
// exceeded by what was joined here.
func (s source) read(ctx context.Context, rs []storage.Range, buf *[]byte, f *fetch) error {
	f.out = f.out[:0]
	if s.store == nil {
		for _, r := range rs {
			f.out = append(f.out, s.mem[r.Off:r.Off+r.Len:r.Off+r.Len])
		}
		return nil
	}
	_, join := s.store.(storage.BufferReader)
	joined, first := f.joined[:0], f.first[:0]
	for i, r := range rs {
		if k := len(joined) - 1; join && k >= 0 && r.Off >= joined[k].Off && r.Off <= joined[k].Off+joined[k].Len+maxGap {
			joined[k].Len = max(joined[k].Len, r.Off+r.Len-joined[k].Off)
			continue
		}
		joined, first = append(joined, r), append(first, i)
	}
	f.joined, f.first = joined, first
	bs, err := s.readJoined(ctx, joined, buf, f)
	if err != nil {
		return s.gone(err)
	}
	for k, b := range bs {
		if int64(len(b)) != joined[k].Len {
			return s.short(joined[k].Off+int64(len(b)), joined[k].Len, int64(len(b)))
		}
		end := len(rs)
		if k+1 < len(first) {
			end = first[k+1]
		}
		for i := first[k]; i < end; i++ {
			at := rs[i].Off - joined[k].Off
			f.out = append(f.out, slices.Clip(b[at:at+rs[i].Len]))
		}
	}
	return nil
}
