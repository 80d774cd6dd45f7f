package blosc

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

// TestWorkersSettle has enough blocks for an effort to be found out.
func TestWorkersSettle(t *testing.T) {
	src := field(256, 1024)
	for _, id := range []FilterID{Shuffle, BitShuffle} {
		p := Params{Codec: Zstd, Level: 5, TypeSize: 4, BlockSize: 32 << 10, Filters: []Filter{{ID: id}}}
		want, err := Encode(nil, src, p)
		require.NoError(t, err)
		p.Workers = 3
		packed, err := Encode(nil, src, p)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, packed))
		c, err := Open(packed, Options{})
		require.NoError(t, err)
		got, err := c.Decode(nil)
		require.NoError(t, err)
		require.True(t, bytes.Equal(src, got))
	}
}

func TestWorkers(t *testing.T) {
	src := field(128, 1024)
	for _, filters := range [][]Filter{nil, {{ID: Shuffle}}, {{ID: BitShuffle}}, {{ID: Delta}, {ID: Shuffle}}} {
		for _, codec := range written {
			p := Params{Codec: codec, Level: 3, TypeSize: 4, BlockSize: 30_000, Filters: filters}
			want, err := Encode(nil, src, p)
			require.NoError(t, err)
			p.Workers = 4
			packed, err := Encode(nil, src, p)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, packed), "%v %v", codec, filters)
			c, err := Open(packed, Options{Workers: 4})
			require.NoError(t, err)
			for _, r := range [][2]int{{0, len(src)}, {1, len(src) - 1}, {100_000, 400_001}, {29_999, 30_001}} {
				got, err := c.DecodeRange(r[0], r[1], []byte("head"))
				require.NoError(t, err)
				require.True(t, bytes.Equal(src[r[0]:r[1]], got[4:]), "%v %v %v", codec, filters, r)
			}
			if c.Header().Stored {
				continue
			}
			fillByte(packed[len(packed)/2:], 0x7f) // sizes of streams that are longer than the chunk
			c, err = Open(packed, Options{Workers: 4})
			require.NoError(t, err)
			_, err = c.Decode(nil)
			require.ErrorIs(t, err, fault.ErrCorrupt)
		}
	}
}

// number is a block that says which one it is.
func number(i int, room []byte) packedBlock { return packedBlock{bytes: append(room[:0], byte(i))} }

func TestQueueEndsWithTheFirstErrorOfItsLine(t *testing.T) {
	left := 0
	l := newLine(0, 999)
	q := newQueue(l, 4, func(i int, _ packedBlock) error {
		require.Equal(t, left, i)
		left++
		return nil
	})
	err := l.work(4, new(scratch), func(i int, s *scratch) error {
		if i == 500 {
			return fault.New(fault.ErrCorrupt, "blosc", "", "")
		}
		s.packed = q.put(i, number(i, s.packed))
		return nil
	})
	require.ErrorIs(t, err, fault.ErrCorrupt)
	require.LessOrEqual(t, left, 500)
}

// TestQueueGoesAhead holds the first block back until as many of the others
// are there as may go ahead.
func TestQueueGoesAhead(t *testing.T) {
	const workers, count = 2, 100
	l := newLine(0, count-1)
	var got []byte
	q := newQueue(l, workers, func(i int, b packedBlock) error {
		got = append(got, b.bytes...)
		return nil
	})
	ahead := make(chan struct{})
	err := l.work(workers, new(scratch), func(i int, s *scratch) error {
		if i == 0 {
			<-ahead
		}
		s.packed = q.put(i, number(i, s.packed))
		if i == len(q.early)-1 {
			close(ahead)
		}
		return nil
	})
	require.NoError(t, err)
	require.Len(t, got, count)
	for i, n := range got {
		require.EqualValues(t, i, n)
	}
}
