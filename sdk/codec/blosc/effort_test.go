package blosc

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/codec/internal/zstd"
)

// TestSettle has data for which the quick search is as good, and some of which
// it makes much more.
func TestSettle(t *testing.T) {
	steps := make([]byte, 0, 1<<20)
	for i := 0; len(steps) < 1<<20; i++ { // what counts up comes again and again from afar
		steps = binary.LittleEndian.AppendUint32(steps, uint32(i/700%7+i%41/40))
	}
	for _, c := range []struct {
		name string
		src  []byte
		id   FilterID
		want int
	}{
		{"field", field(256, 1024), Shuffle, zstd.Quick},
		{"bits of a field", field(256, 1024), BitShuffle, zstd.Quick},
		{"steps", steps, Shuffle, zstd.Numbers},
		{"few blocks", field(32, 1024), Shuffle, zstd.Numbers},
	} {
		p := Params{Codec: Zstd, Level: 5, TypeSize: 4, BlockSize: 32 << 10, Filters: []Filter{{ID: c.id}}}
		e := newEncoder(c.src, p)
		e.header, e.blockSize = ExtendedHeaderSize, p.BlockSize
		e.settle()
		require.Equal(t, c.want, e.effort, c.name)
		e.release()
	}
}
