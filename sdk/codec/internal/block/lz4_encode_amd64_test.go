package block

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireAsInGo packs src[start:] by the kernel for a kind of table, and by the
// loop in Go: what they write is the same.
func requireAsInGo[T uint16 | uint32](t *testing.T, src []byte, start, stride int) {
	t.Helper()
	var table lz4Table[T]
	size := int(LZ4Bound(int64(len(src) - start)))
	want := make([]byte, size)
	want = want[:table.fast(want, src, start, stride)]
	got, intact := fenced(len(src)%64, size)
	got = got[:table.pack(got, src, start, stride)]
	require.True(t, bytes.Equal(want, got), "%d bytes from %d, stride %d", len(src), start, stride)
	require.True(t, intact(), "wrote outside")
}

func requireBothAsInGo(t *testing.T, src []byte, start, stride int) {
	t.Helper()
	if len(src) < lz4Near64K {
		requireAsInGo[uint16](t, src, start, stride)
	}
	requireAsInGo[uint32](t, src, start, stride)
}

func TestLZ4Search(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, src := range corpus() {
		requireBothAsInGo(t, src, 0, 1+r.IntN(9))
		requireBothAsInGo(t, src, r.IntN(len(src)+1), 1+r.IntN(9))
	}
	for range 500 {
		_, src := mixedBlock(r, 1+r.IntN(3000))
		requireBothAsInGo(t, src, r.IntN(min(len(src), 300)), 1+r.IntN(9))
	}
	for _, size := range []int{lz4Near64K - 1, lz4Near64K, 3 * lz4Once} { // the last one in several calls
		_, src := mixedBlock(r, size)
		requireBothAsInGo(t, src[:size], 0, 5)
	}
	noise := make([]byte, 2*lz4Once)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	requireBothAsInGo(t, noise, 0, 1)
}

func FuzzLZ4Search(f *testing.F) {
	r := rand.New(rand.NewPCG(15, 16))
	for range 30 {
		_, plain := mixedBlock(r, 1+r.IntN(600))
		f.Add(plain, r.IntN(len(plain)), 1+r.IntN(9))
	}
	f.Fuzz(func(t *testing.T, src []byte, start, stride int) {
		if start < 0 || start > len(src) || stride < 1 || stride > 1<<20 {
			return
		}
		requireBothAsInGo(t, src, start, stride)
	})
}
