package shuffle

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// naive is the definition of Bytes.
func naive(src []byte, size int) []byte {
	count := len(src) / size
	dst := bytes.Clone(src)
	for i := range count {
		for k := range size {
			dst[k*count+i] = src[i*size+k]
		}
	}
	return dst
}

// naiveBits is the definition of Bits.
func naiveBits(src []byte, size int) []byte {
	count := len(src) / size
	dst := bytes.Clone(src)
	clear(dst[:count*size])
	for i := range count {
		for bit := range 8 * size {
			v := src[i*size+bit/8] >> (bit % 8) & 1
			at := bit*count + i // in bits
			dst[at/8] |= v << (at % 8)
		}
	}
	return dst
}

func noise(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestBytes(t *testing.T) {
	for size := 1; size <= 40; size++ {
		for _, count := range []int{0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 200} {
			for _, over := range []int{0, 1, size - 1} {
				src := noise(count*size + over)
				if over >= size {
					continue
				}
				got := make([]byte, len(src))
				Bytes(got, src, size)
				require.Equal(t, naive(src, size), got, "size %d, count %d, %d left over", size, count, over)
				back := make([]byte, len(src))
				UndoBytes(back, got, size)
				require.Equal(t, src, back, "size %d, count %d, %d left over", size, count, over)
			}
		}
	}
}

func TestBits(t *testing.T) {
	for size := 1; size <= 20; size++ {
		for _, count := range []int{0, 8, 16, 56, 64, 72, 128, 200, 520} {
			for _, over := range []int{0, size - 1} {
				src := noise(count*size + over)
				got, tmp := make([]byte, len(src)), noise(len(src))
				Bits(got, src, size, tmp)
				require.Equal(t, naiveBits(src, size), got, "size %d, count %d, %d left over", size, count, over)
				back := make([]byte, len(src))
				UndoBits(back, got, size, tmp)
				require.Equal(t, src, back, "size %d, count %d, %d left over", size, count, over)
			}
		}
	}
}

func BenchmarkUndo(b *testing.B) {
	const n = 64 << 10
	src, dst, tmp := noise(n), make([]byte, n), make([]byte, n)
	for _, size := range []int{1, 2, 3, 4, 8, 12, 16} {
		b.Run(fmt.Sprintf("Bytes/%d", size), func(b *testing.B) {
			b.SetBytes(n)
			for b.Loop() {
				UndoBytes(dst, src, size)
			}
		})
		b.Run(fmt.Sprintf("Bits/%d", size), func(b *testing.B) {
			b.SetBytes(n)
			for b.Loop() {
				UndoBits(dst, src[:n-n%(8*size)], size, tmp)
			}
		})
	}
}
