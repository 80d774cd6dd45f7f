package blosc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBloscLZGlance compares what a glance says with what is written.
func TestBloscLZGlance(t *testing.T) {
	for n := range 700 {
		literals := appendLiterals(nil, make([]byte, n))
		require.Len(t, literals, literalsSize(n))
		for _, distance := range []int{1, bloscLZNear, bloscLZNear + 1, bloscLZFar} {
			if n >= bloscLZMin {
				require.Len(t, appendMatch(nil, distance, n), matchSize(distance, n))
			}
		}
	}
	for _, seed := range []uint64{1, 2, 3} {
		for _, n := range []int{20, 1000, 16384} {
			src := pattern(n, seed)
			s := bloscLZScan{table: new([bloscLZTable]int32), size: bloscLZTable, least: bloscLZWorth}
			written := len(s.append(nil, src))
			require.InDelta(t, written, s.packed(src), float64(written)/16+1)
		}
	}
}
