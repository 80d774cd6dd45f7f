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

// The same of who packs, with just the room that the largest block takes.
func TestLZ4PacksInside(t *testing.T) {
	in, out := island(t, 20), island(t, 21)
	r := rand.New(rand.NewPCG(17, 18))
	noise := make([]byte, 80_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for i := range 1000 {
		_, plain := mixedBlock(r, 1+r.IntN(3000))
		switch i % 10 {
		case 0:
			plain = noise[:r.IntN(1000)]
		case 1:
			plain = append(plain, noise[:r.IntN(len(noise)-len(plain))]...) // more than 64 KiB, perhaps
		}
		first, last := in[:len(plain)], in[len(in)-len(plain):]
		room := out[len(out)-int(LZ4Bound(int64(len(plain)))):]
		copy(first, plain)
		stride := 1 + r.IntN(9)
		want := bytes.Clone(AppendLZ4Fast(room[:0:len(room)], first, 0, stride))
		copy(last, plain)
		got := AppendLZ4Fast(room[:0:len(room)], last, 0, stride)
		require.True(t, bytes.Equal(want, got))
		again := make([]byte, len(plain))
		n, err := FillLZ4(again, got)
		require.True(t, err == nil && n == len(plain) && bytes.Equal(plain, again))
	}
}
