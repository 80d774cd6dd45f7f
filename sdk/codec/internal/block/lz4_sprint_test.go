package block

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Matches of all short distances and lengths, after literals of all short
// lengths, come out byte by byte as the format has them, whole and in part.
func TestLZ4Sequences(t *testing.T) {
	text := make([]byte, 400)
	for i := range text {
		text[i] = byte(i*i>>3 ^ i)
	}
	for _, literals := range []int{0, 1, 14, 15, 16, 270} {
		for distance := 1; distance < 40; distance++ {
			for _, n := range []int{4, 5, 7, 8, 9, 15, 16, 17, 18, 19, 20, 34, 127, 128, 129, 130, 144, 145, 272, 273, 274} {
				for _, after := range []int{5, 60} { // near the end of the block, and not
					packed := lz4Sequence(nil, text[:50], distance, n)
					packed = lz4Sequence(packed, text[50:50+literals], distance+1, n)
					packed = lz4Sequence(packed, text[:after], 0, 0)
					want := append([]byte(nil), text[:50]...)
					for range n {
						want = append(want, want[len(want)-distance])
					}
					want = append(want, text[50:50+literals]...)
					for range n {
						want = append(want, want[len(want)-distance-1])
					}
					want = append(want, text[:after]...)
					got := make([]byte, len(want))
					k, err := FillLZ4(got, packed)
					if err != nil || k != len(want) || string(got) != string(want) {
						require.FailNow(t, "wrong", "%d literals, distance %d, %d bytes, %d after: %v", literals, distance, n, after, err)
					}
					clear(got)
					need := len(want) * (distance%7 + 1) / 8
					if err := PrefixLZ4(got[:need], packed); err != nil || string(got[:need]) != string(want[:need]) {
						require.FailNow(t, "wrong beginning", "%d literals, distance %d, %d bytes, %d after: %v", literals, distance, n, after, err)
					}
				}
			}
		}
	}
}
