package prefix

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLengths(t *testing.T) {
	var l Lengths
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		n := 2 + r.IntN(most-1)
		limit := 9 + r.IntN(7)
		counts, widths := make([]uint32, n), make([]uint8, n)
		used := 0
		for i := range counts {
			if r.IntN(3) > 0 {
				counts[i] = 1 + uint32(r.ExpFloat64()*float64(uint32(1)<<r.IntN(18)))
				used++
			}
		}
		ok := l.Set(widths, counts, limit)
		require.Equal(t, used >= 2, ok)
		if !ok {
			continue
		}
		room := 0
		for i, w := range widths {
			require.Equal(t, counts[i] > 0, w > 0)
			require.LessOrEqual(t, int(w), limit)
			if w > 0 {
				room += 1 << limit >> w
			}
		}
		require.Equal(t, 1<<limit, room)
	}
	// Fibonacci's numbers make the deepest trees.
	counts := make([]uint32, 30)
	a, b := uint32(1), uint32(1)
	for i := range counts {
		counts[i] = a
		a, b = b, a+b
	}
	widths := make([]uint8, len(counts))
	require.True(t, l.Set(widths, counts, 7))
	require.True(t, l.Set(widths, counts, 15))
	require.EqualValues(t, 1, widths[29])
	require.False(t, l.Set(widths, counts[:1], 7))
}
