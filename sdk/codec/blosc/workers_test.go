package blosc

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

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

func TestLineEndsWithItsFirstError(t *testing.T) {
	left := 0
	l := newLine(0, 999)
	err := l.work(4, new(scratch), func(i int, _ *scratch) error {
		if i == 500 {
			return fault.New(fault.ErrCorrupt, "blosc", "", "")
		}
		l.inTurn(i, func() error {
			require.Equal(t, left, i)
			left++
			return nil
		})
		return nil
	})
	require.ErrorIs(t, err, fault.ErrCorrupt)
	require.LessOrEqual(t, left, 500)
}
