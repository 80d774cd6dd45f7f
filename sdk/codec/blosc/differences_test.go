package blosc

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDifferences compares the words with the definitions, a byte at a time.
func TestDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 100 {
		for _, top := range []uint32{2, 256, 0} { // 0: nothing but 255
			src := make([]byte, n)
			for i := range src {
				src[i] = 255
				if top > 0 {
					src[i] = byte(r.Uint32N(top) * 255 / (top - 1))
				}
			}
			want := bytes.Clone(src)
			for i := 1; i < n; i++ {
				want[i] += want[i-1]
			}
			got := bytes.Clone(src)
			sumBytes(got)
			require.Equal(t, want, got, "sums of %d", n)
			lessBefore(got, want)
			require.Equal(t, src, got, "differences of %d", n)
			for _, w := range []int{1, 2, 4, 8} {
				want, got := bytes.Clone(src), bytes.Clone(src)
				for i := w; i < n; i++ {
					want[i] ^= want[i-w]
				}
				xorBefore(got, w)
				require.Equal(t, want, got, "%d bytes, %d apart", n, w)
			}
		}
	}
}

func BenchmarkDifferences(b *testing.B) {
	src, dst := field(64, 1024), make([]byte, 256<<10)
	for name, do := range map[string]func(){
		"sumBytes":   func() { sumBytes(src) },
		"lessBefore": func() { lessBefore(dst, src) },
		"xorBefore1": func() { xorBefore(src, 1) },
		"xorBefore4": func() { xorBefore(src, 4) },
		"xorBefore8": func() { xorBefore(src, 8) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				do()
			}
		})
	}
}
