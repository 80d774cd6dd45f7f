package shuffle

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzShuffle compares all with the definitions, for elements of any size, at
// any place in memory, with whatever kernels there are.
func FuzzShuffle(f *testing.F) {
	for _, size := range []uint8{1, 2, 4, 7, 8, 12, 16} {
		f.Add(noise(200*int(size)+3), size, uint8(5))
	}
	f.Fuzz(func(t *testing.T, plain []byte, size, at uint8) {
		n := max(1, int(size))
		place := func(b []byte) []byte { // a copy, somewhere else in a line
			moved := make([]byte, int(at)%64+len(b))[int(at)%64:]
			copy(moved, b)
			return moved
		}
		src, got, back := place(plain), place(plain), place(plain)
		Bytes(got, src, n)
		require.Equal(t, naive(plain, n), got)
		UndoBytes(back, got, n)
		require.Equal(t, plain, back)

		whole := len(plain) / n &^ 7 * n // Bits takes elements by eights
		plain, src, got, back = plain[:whole], src[:whole], got[:whole], back[:whole]
		tmp := make([]byte, whole)
		Bits(got, src, n, tmp)
		require.Equal(t, naiveBits(plain, n), got)
		UndoBits(back, got, n, tmp)
		require.Equal(t, plain, back)
	})
}
