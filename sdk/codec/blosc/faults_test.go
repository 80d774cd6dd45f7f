package blosc

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Report 54: chunks without content of lengths at which other decoders failed,
// with items of odd sizes, whole, by block and by item. Of zeros the last item
// may be cut.
func TestReport54SpecialLengths(t *testing.T) {
	n := 0
	for _, size := range []int{1, 3, 8, 255} {
		for _, kind := range []Special{Zeros, Uninit, Repeated, NaNs} {
			if kind == NaNs && size != 8 {
				continue
			}
			value := make([]byte, size)
			for i := range value {
				value[i] = byte(5*i + 1)
			}
			item := make([]byte, size)
			switch kind {
			case Repeated:
				item = value
			case NaNs:
				item = []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}
			}
			const block = 4080 // of items of all these sizes
			for _, length := range []int{0, 1, 7, 7240, 7241, 78732, block - 1, block, block + 1, block - size, block + size} {
				if kind != Zeros {
					length -= length % size
				}
				if length <= 0 && kind != Zeros {
					continue
				}
				p := Params{TypeSize: size, BlockSize: block}
				if kind != Repeated {
					value = nil
				} else {
					value = item
				}
				b, err := EncodeSpecial(nil, kind, length, value, p)
				require.NoError(t, err)
				c, err := Open(b, Options{})
				require.NoError(t, err)
				want := bytes.Repeat(item, length/size+1)[:length]
				what := fmt.Sprintf("kind %d, %d bytes of items of %d", kind, length, size)
				got, err := c.Decode(nil)
				require.NoError(t, err, what)
				require.True(t, bytes.Equal(want, got), what)
				for i := range c.Blocks() {
					from, to := c.Block(i)
					got, err := c.DecodeBlock(i, nil)
					require.NoError(t, err, what)
					require.True(t, bytes.Equal(want[from:to], got), "%s, block %d", what, i)
				}
				for _, k := range []int{0, 1, length/size/2 - 1, length/size - 1} {
					if k >= 0 && (k+1)*size <= length {
						got, err := c.DecodeRange(k*size, (k+1)*size, nil)
						require.NoError(t, err, what)
						require.True(t, bytes.Equal(item, got), "%s, item %d", what, k)
					}
				}
				n++
			}
		}
	}
	require.Greater(t, n, 90)
	// What is packed and turns out to be zeros, of the same lengths.
	for _, length := range []int{0, 1, 7, 7240, 7241, 78732} {
		for _, size := range []int{1, 3, 8, 255} {
			b, err := Encode(nil, make([]byte, length), Params{Codec: LZ4, Level: 5, TypeSize: size, Filters: []Filter{{ID: Shuffle}}})
			require.NoError(t, err)
			c, err := Open(b, Options{})
			require.NoError(t, err)
			got, err := c.Decode(nil)
			require.NoError(t, err)
			require.True(t, bytes.Equal(make([]byte, length), got))
		}
	}
}

// Report 53: a length of a match or of literals that goes on and on is damage,
// in no time and no more memory than the chunk may take.
func TestReport53EndlessLengths(t *testing.T) {
	src := bytes.Repeat([]byte("abcdefgh"), 500)
	for _, codec := range []Codec{BloscLZ, LZ4, Zlib, Zstd} {
		good, err := Encode(nil, src, Params{Codec: codec, Level: 5, TypeSize: 1})
		require.NoError(t, err)
		require.Less(t, len(good), 400)
		for from := ExtendedHeaderSize; from < len(good); from++ {
			bad := bytes.Clone(good)
			for i := from; i < len(bad); i++ {
				bad[i] = 0xff
			}
			c, err := Open(bad, Options{})
			if err != nil {
				continue
			}
			got, err := c.Decode(nil)
			require.True(t, err != nil || len(got) == len(src), "%v from %d", codec, from)
		}
		allocated := testing.AllocsPerRun(5, func() {
			bad := bytes.Clone(good)
			for i := ExtendedHeaderSize + 8; i < len(bad); i++ {
				bad[i] = 0xff
			}
			if c, err := Open(bad, Options{}); err == nil {
				c.Decode(nil)
			}
		})
		require.Less(t, allocated, 100.0, "%v", codec)
	}
}
