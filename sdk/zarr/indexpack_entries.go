package zarr

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/fault"
)

// packEntries writes the entries of an index as three lists of varints:
//
//	lengths  of each subchunk in C order, plus 1; 0: it is not stored
//	moves    for each that is stored, in C order: its rank among them by offset,
//	         less that of the one before, less 1 (zigzag)
//	gaps     for each that is stored, by rank: its offset, less the end of the
//	         one before (zigzag)
//
// Where subchunks lie one behind the other in C order, moves and gaps are
// zeros; a writer's own order costs about as much as the lengths. In front is
// how many bytes that makes, and then come those bytes, or a frame of zstd
// that decodes to them.
func packEntries(all entries) []byte {
	var stored []int64
	b := make([]byte, 0, 4*all.len())
	for i := range all.len() {
		off, n := all.at(i)
		if off == empty {
			b = append(b, 0)
			continue
		}
		stored = append(stored, i)
		b = binary.AppendUvarint(b, n+1)
	}
	order := make([]int, len(stored)) // by rank: which of stored
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(x, y int) int {
		off, n := all.at(stored[x])
		off2, n2 := all.at(stored[y])
		return cmp.Or(cmp.Compare(off, off2), cmp.Compare(n, n2))
	})
	rank := make([]int, len(stored))
	for r, k := range order {
		rank[k] = r
	}
	before := -1
	for _, r := range rank {
		b = binary.AppendVarint(b, int64(r-before-1))
		before = r
	}
	end := uint64(0)
	for _, k := range order {
		off, n := all.at(stored[k])
		b = binary.AppendVarint(b, int64(off-end))
		end = off + n
	}
	head := binary.AppendUvarint(nil, uint64(len(b)))
	if small := compressed(b); len(small) < len(b) {
		b = small
	}
	return append(head, b...)
}

// compressed returns b as zstd, or as it is where nothing can encode.
func compressed(b []byte) []byte {
	if e, ok := packCodec().(codec.Encoder); ok {
		if small, err := e.Encode(nil, b); err == nil {
			return small
		}
	}
	return b
}

func packCodec() codec.Bytes {
	c, err := codec.New("zstd", []byte(`{"level":9,"checksum":false}`))
	if err != nil {
		panic(err) // of the words above
	}
	return c
}

// perEntry bounds the bytes of an entry: three varints.
const perEntry = 30

// unpackEntries reads the entries of an index of count subchunks in an object
// of size bytes, -1 if that is not known.
func unpackEntries(b []byte, count, size int64) (entries, error) {
	r := &packReader{b: b}
	n := r.number()
	if n > perEntry*uint64(count) || n < uint64(count) {
		r.fail("entries of another index")
	}
	if r.err != nil {
		return entries{}, r.err
	}
	raw := r.bytes(len(b) - r.at)
	if uint64(len(raw)) < n {
		var err error
		if raw, err = packCodec().Decode(context.Background(), nil, raw, int(n)); err != nil {
			return entries{}, err
		}
	}
	if uint64(len(raw)) != n {
		return entries{}, fault.New(fault.ErrCorrupt, "index pack", "", "entries of another length than is said")
	}
	return parseEntries(raw, count, size)
}

func parseEntries(raw []byte, count, size int64) (entries, error) {
	r := &packReader{b: raw}
	limit := size
	if limit < 0 {
		limit = 1<<63 - 1
	}
	all := newEntries(count, uint64(limit))
	stored := int64(0)
	for i := range count {
		length := r.number()
		if length == 0 {
			all.set(i, empty, empty)
			continue
		}
		if length-1 > uint64(limit) {
			r.fail("a subchunk longer than its shard")
			break
		}
		all.set(i, 0, length-1)
		stored++
	}
	byRank := make([]int64, stored) // the subchunk, plus 1
	before := int64(-1)
	for i := range count {
		if off, _ := all.at(i); off == empty {
			continue
		}
		before += r.signed() + 1
		if before < 0 || before >= stored || byRank[before] != 0 {
			r.fail("no such rank, or twice")
			break
		}
		byRank[before] = i + 1
	}
	end := int64(0)
	for _, i := range byRank {
		if r.err != nil {
			break
		}
		_, length := all.at(i - 1)
		off := end + r.signed()
		if off < 0 || off > limit || length > uint64(limit-off) {
			r.fail("a subchunk outside its shard")
			break
		}
		all.set(i-1, uint64(off), length)
		end = off + int64(length)
	}
	if r.err == nil && r.at != len(raw) {
		r.fail("bytes after the last entry")
	}
	return all, r.err
}

func (r *packReader) signed() int64 {
	n := r.number()
	return int64(n>>1) ^ -int64(n&1)
}
