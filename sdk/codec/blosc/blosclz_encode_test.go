package blosc

import (
	"math"
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
			s := bloscLZScan{table: new(bloscLZSeen), size: bloscLZTable, least: bloscLZWorth}
			written := len(s.append(nil, src))
			require.InDelta(t, written, s.packed(src), float64(written)/16+1)
		}
	}
}

// What a table holds of other input does not matter, nor how much of it there
// was.
func TestBloscLZTableIsNotCleared(t *testing.T) {
	used := new(bloscLZSeen)
	for k := range 200 {
		src := pattern(20+k*37, uint64(k%7))
		want := (&bloscLZScan{table: new(bloscLZSeen), size: bloscLZTable, least: bloscLZWorth}).append(nil, src)
		s := bloscLZScan{table: used, size: bloscLZTable, least: bloscLZWorth}
		require.Equal(t, want, s.append(nil, src))
		if k == 100 { // and then it begins anew
			used.next = math.MaxInt32 - 3000
		}
	}
	require.Less(t, used.next, 1<<20)
}
