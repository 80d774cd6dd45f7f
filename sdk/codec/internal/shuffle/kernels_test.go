//go:build amd64 || arm64

package shuffle

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWithoutKernels takes the loops in Go through the tests of this package.
func TestWithoutKernels(t *testing.T) {
	if !quick {
		t.Skip("no kernels here: the other tests do")
	}
	quick = false
	defer func() { quick = true }()
	t.Run("Bytes", TestBytes)
	t.Run("Bits", TestBits)
}

const guard = 64 // bytes that nobody may touch

// apart returns room for n bytes that begin at, between guards.
func apart(at, n int) (b []byte, intact func() bool) {
	whole := bytes.Repeat([]byte{0xa5}, guard+at+n+guard)
	b = whole[guard+at:][:n:n]
	return b, func() bool {
		for i, c := range whole {
			if (i < guard+at || i >= guard+at+n) && c != 0xa5 {
				return false
			}
		}
		return true
	}
}

// kernelsOf are those of one kind, with their definition; unit is the elements
// that come together.
type kernelsOf struct {
	name     string
	do, undo func(dst, src []byte, size int)
	want     func(src []byte, size int) []byte
	unit     int
}

var (
	byteKernels = kernelsOf{"bytes", Bytes, UndoBytes, naive, 1}
	bitKernels  = kernelsOf{
		"bits",
		func(dst, src []byte, size int) { Bits(dst, src, size, make([]byte, len(src))) },
		func(dst, src []byte, size int) { UndoBits(dst, src, size, make([]byte, len(src))) },
		naiveBits, 8,
	}
)

func TestKernels(t *testing.T) {
	if !quick {
		t.Skip("no kernels here")
	}
	compareKernels(t, byteKernels, bitKernels)
}

// compareKernels compares the kernels with the definitions: each number of
// elements around what a kernel does at once, each place in a line of memory.
func compareKernels(t *testing.T, kinds ...kernelsOf) {
	for _, k := range kinds {
		for _, size := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33} {
			t.Run(fmt.Sprintf("%s of %d", k.name, size), func(t *testing.T) {
				for count := 0; count <= 100; count++ {
					plain := noise(count * k.unit * size)
					want := k.want(plain, size)
					for _, at := range [][2]int{{0, 0}, {count % 32, 31 - count%32}, {1, 16}} {
						src, _ := apart(at[0], len(plain))
						copy(src, plain)
						got, intact := apart(at[1], len(plain))
						k.do(got, src, size)
						if !bytes.Equal(want, got) || !intact() {
							require.Equal(t, want, got, "count %d, at %v", count, at)
							require.Fail(t, "wrote elsewhere", "count %d, at %v", count, at)
						}
						back, intact := apart(at[0], len(plain))
						k.undo(back, got, size)
						if !bytes.Equal(plain, back) || !intact() {
							require.Equal(t, plain, back, "count %d, at %v", count, at)
							require.Fail(t, "wrote elsewhere", "count %d, at %v", count, at)
						}
					}
				}
			})
		}
	}
	for _, k := range kinds {
		for _, size := range []int{2, 4, 8} {
			plain := noise(321 * k.unit * size)
			want := k.want(plain, size)
			for at := range 32 {
				src, _ := apart(at, len(plain))
				copy(src, plain)
				for to := range 32 {
					got, intact := apart(to, len(plain))
					k.do(got, src, size)
					require.True(t, intact() && bytes.Equal(want, got), "%s of %d, from %d to %d", k.name, size, at, to)
				}
			}
		}
	}
}
