package zarr_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// wideShards is an array of two shards of so many subchunks of one element
// that an index has some 270 KB: every third is not stored, and no two
// neighbours lie in order.
func wideShards(f indexForm) (m *storage.Memory, per int) {
	per = 17_000
	m = storage.NewMemory()
	m.Set("zarr.json", f.metadata(fmt.Sprintf("[2,%d]", per), fmt.Sprintf("[1,%d]", per), "[1,1]", rawLE))
	for row := range 2 {
		m.Set(fmt.Sprintf("c/%d/0", row), wideShard(f, per, row))
	}
	return m, per
}

func wideShard(f indexForm, per, row int) []byte {
	base := 0
	if f.start {
		base = f.size(per)
	}
	data := make([]byte, 2*per)
	index := make([]uint64, 0, 2*per)
	for i := range per {
		if i%3 == 2 {
			index = append(index, 1<<64-1, 1<<64-1)
			continue
		}
		off := 2 * (per - 1 - i)
		binary.LittleEndian.PutUint16(data[off:], uint16(row+i))
		index = append(index, uint64(base+off), 2)
	}
	if f.start {
		return append(f.index(index), data...)
	}
	return append(data, f.index(index)...)
}

// indexBytes is where the index of a wide shard lies.
func indexBytes(f indexForm, b []byte, per int) []byte {
	if f.start {
		return b[:f.size(per)]
	}
	return b[len(b)-f.size(per):]
}

// onlyRanges has none of the powers that a store may have.
type onlyRanges struct{ storage.Store }

// seen calls back before each read into memory.
type seen struct {
	*storage.Memory
	before func(off int64, n int)
}

func (s seen) ReadInto(ctx context.Context, key string, off int64, dst []byte, want storage.Version) (int, storage.ObjectInfo, error) {
	s.before(off, len(dst))
	return s.Memory.ReadInto(ctx, key, off, dst, want)
}

// TestLargeIndex: an index that is read piece by piece is the one that is read
// at once, in every form.
func TestLargeIndex(t *testing.T) {
	for name, f := range map[string]indexForm{
		"at the end":      {checksums: 1},
		"at the start":    {checksums: 1, start: true},
		"without sum":     {},
		"summed twice":    {checksums: 2},
		"big endian":      {checksums: 1, bigEndian: true},
		"big, at a start": {checksums: 1, bigEndian: true, start: true},
	} {
		t.Run(name, func(t *testing.T) {
			m, per := wideShards(f)
			pieces, largest := 0, 0
			hooked := open(t, seen{m, func(_ int64, n int) { pieces, largest = pieces+1, max(largest, n) }})
			plain := open(t, onlyRanges{m})
			for row := range int64(2) {
				x, err := hooked.ShardIndex(t.Context(), at(row, 0), zarr.ReadOptions{})
				require.NoError(t, err)
				y, err := plain.ShardIndex(t.Context(), at(row, 0), zarr.ReadOptions{})
				require.NoError(t, err)
				require.Equal(t, per, x.Len())
				require.Equal(t, y.Version(), x.Version())
				require.Equal(t, y.Size(), x.Size())
				for i := range per {
					off, n, ok := x.At(i)
					off2, n2, ok2 := y.At(i)
					if off != off2 || n != n2 || ok != ok2 || ok == (i%3 == 2) {
						t.Fatalf("%d: %d+%d %v, and %d+%d %v", i, off, n, ok, off2, n2, ok2)
					}
				}
			}
			usual := f.checksums == 1 && !f.bigEndian
			require.Equal(t, usual, pieces > 4, "%d pieces", pieces)
			require.Less(t, largest, f.size(per))
			for _, i := range []int64{0, 1, 2, 11_000, int64(per) - 1} {
				got, err := hooked.RetrieveSubchunk(t.Context(), at(1, i), zarr.ReadOptions{})
				require.NoError(t, err)
				want := u16(uint16(1 + i))
				if i%3 == 2 {
					want = u16(9)
				}
				require.Equal(t, want, got, "subchunk %d", i)
			}
		})
	}
}

// TestLargeIndexDamaged: damage is told in the same words however the index
// is read.
func TestLargeIndexDamaged(t *testing.T) {
	for _, start := range []bool{false, true} {
		f := indexForm{checksums: 1, start: start}
		_, per := wideShards(f)
		whole := wideShard(f, per, 0)
		size := f.size(per)
		told := func(b []byte) {
			m, _ := wideShards(f)
			m.Set("c/0/0", b)
			_, err := open(t, m).ShardIndex(t.Context(), at(0, 0), zarr.ReadOptions{})
			require.ErrorIs(t, err, fault.ErrCorrupt)
			_, plain := open(t, onlyRanges{m}).ShardIndex(t.Context(), at(0, 0), zarr.ReadOptions{})
			require.EqualError(t, err, plain.Error())
		}
		for _, k := range []int{7, 131_072, size - 5, size - 1} {
			b := append([]byte{}, whole...)
			indexBytes(f, b, per)[k] ^= 0x40
			told(b)
		}
		// An entry outside the shard under a sum that is right.
		b := append([]byte{}, whole...)
		index := indexBytes(f, b, per)
		binary.LittleEndian.PutUint64(index[16*13_000:], 1<<40)
		binary.LittleEndian.PutUint32(index[size-4:], storage.UpdateCRC(0, index[:size-4]))
		told(b)
		told(whole[:size-1])
	}
}

// TestLargeIndexReplaced: a shard that is replaced between two pieces is read
// as one of its states, never as both.
func TestLargeIndexReplaced(t *testing.T) {
	f := indexForm{checksums: 1}
	m, per := wideShards(f)
	reads := 0
	a := open(t, seen{m, func(int64, int) {
		if reads++; reads == 3 {
			m.Set("c/0/0", append(make([]byte, 10), wideShard(indexForm{checksums: 1}, per, 7)...))
		}
	}})
	x, err := a.ShardIndex(t.Context(), at(0, 0), zarr.ReadOptions{})
	require.NoError(t, err)
	require.GreaterOrEqual(t, reads, 3)
	_, info, err := m.ReadRanges(t.Context(), "c/0/0", []storage.Range{{Off: 0, Len: 1}}, "")
	require.NoError(t, err)
	require.Equal(t, info.Version, x.Version())
}

// TestLargeIndexCancelled: who stops waiting is told so.
func TestLargeIndexCancelled(t *testing.T) {
	m, _ := wideShards(indexForm{checksums: 1})
	ctx, cancel := context.WithCancel(t.Context())
	reads := 0
	a := open(t, seen{m, func(int64, int) {
		if reads++; reads == 3 {
			cancel()
		}
	}})
	_, err := a.ShardIndex(ctx, at(0, 0), zarr.ReadOptions{})
	require.ErrorIs(t, err, fault.ErrCancelled)
	require.ErrorIs(t, err, context.Canceled)
}
