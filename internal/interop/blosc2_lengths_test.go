package interop

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
)

// Report 54: the peer's chunks without content, of lengths at which decoders
// failed, whole and by items.
func TestReport54LengthsOfThePeer(t *testing.T) {
	p := pythonBlosc2(t)
	var frames []frame
	var wants [][]byte
	for _, size := range []int{1, 3, 8, 255} {
		for _, kind := range []blosc.Special{blosc.Zeros, blosc.NaNs, blosc.Repeated} {
			if kind == blosc.NaNs && size != 8 {
				continue
			}
			for _, length := range []int{1, 7, 7240, 7241, 78732, 65536 - 1, 65536, 65536 + 1} {
				count := max(length/size, 1)
				f := frame{settings: blosc.Params{Codec: blosc.LZ4, Level: 5, TypeSize: size, Filters: pipelines[1].filters}}
				f.ChunkSize = count * size
				item := make([]byte, size)
				o := op{Do: "fill", Special: kind, Count: count}
				switch kind {
				case blosc.Repeated:
					for i := range item {
						item[i] = byte(3*i + 1)
					}
					o.Data = item
				case blosc.NaNs:
					item = []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}
				}
				f.Ops, f.params, f.Name = []op{o}, asParams(f.settings), folder(len(frames))
				f.label = fmt.Sprintf("%d items of %d bytes, kind %d", count, size, kind)
				frames, wants = append(frames, f), append(wants, bytes.Repeat(item, count))
			}
		}
	}
	dir, fs := folderFS(t)
	for i, said := range p.jobs(t, "write", dir, frames) {
		f, want := frames[i], wants[i]
		require.Empty(t, said.Refused, f.label)
		c, err := blosc2.Open(t.Context(), fs, f.Name, blosc2.Options{})
		require.NoError(t, err, f.label)
		s := c.(*blosc2.SChunk)
		got := make([]byte, len(want))
		require.EqualValues(t, len(want), s.Header().Size, f.label)
		require.NoError(t, s.ReadBytes(t.Context(), 0, got), f.label)
		require.True(t, bytes.Equal(want, got), f.label)
		for _, at := range []int{0, len(want) / 2 / f.TypeSize * f.TypeSize, len(want) - f.TypeSize} {
			one := make([]byte, f.TypeSize)
			require.NoError(t, s.ReadBytes(t.Context(), int64(at), one), f.label)
			require.Equal(t, want[at:at+f.TypeSize], one, "%s, at %d", f.label, at)
		}
		require.NoError(t, s.Close())
	}
}
