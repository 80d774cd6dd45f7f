package block

import (
	"bytes"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// island is n pages of memory between two that must not be touched.
func island(t *testing.T, n int) []byte {
	page := os.Getpagesize()
	b, err := syscall.Mmap(-1, 0, (n+2)*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(b)) })
	require.NoError(t, syscall.Mprotect(b[:page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(b[(n+1)*page:], syscall.PROT_NONE))
	return b[page : (n+1)*page]
}

// Nothing is read or written one byte before or after what was handed in,
// whatever is wrong with it: the test would end with a fault.
func TestLZ4StaysInside(t *testing.T) {
	in, out := island(t, 4), island(t, 4)
	r := rand.New(rand.NewPCG(11, 12))
	for range 3000 {
		packed, plain := mixedBlock(r, 1+r.IntN(4000))
		for i := range 4 {
			src, size := packed, len(plain)
			if i > 0 {
				src, size = spoilt(r, packed), max(0, size-r.IntN(80)+20)
			}
			first, last := in[:len(src)], in[len(in)-len(src):]
			copy(first, src)
			n, err := FillLZ4(out[:size:size], first)
			want := bytes.Clone(out[:n])
			copy(last, src)
			again, errAgain := FillLZ4(out[len(out)-size:], last)
			require.Equal(t, err, errAgain)
			require.Equal(t, n, again)
			require.True(t, bytes.Equal(want, out[len(out)-size:][:n]))
			if i == 0 {
				require.True(t, err == nil && bytes.Equal(plain, want))
			}
			need := r.IntN(size + 1)
			err = PrefixLZ4(out[:need:need], first)
			require.Equal(t, err, PrefixLZ4(out[len(out)-need:], last))
		}
	}
}
