package block

import (
	"bytes"
	"math/rand/v2"
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

// mixedBlock is a block of about size bytes of all kinds of sequences, and what
// it decodes to.
func mixedBlock(r *rand.Rand, size int) (packed, plain []byte) {
	text := make([]byte, 700)
	for i := range text {
		text[i] = byte(r.Uint32())
	}
	// Each block has its own mixture.
	bare, long, near := r.IntN(100), r.IntN(20), r.IntN(100)
	for len(plain) < size {
		literals, n := 0, 4+r.IntN(15)
		if r.IntN(100) >= bare || len(plain) == 0 {
			literals = 1 + r.IntN(14)
			if r.IntN(100) < long {
				literals = r.IntN(len(text))
			}
		}
		if r.IntN(100) < long {
			n += r.IntN(400)
		}
		begin := r.IntN(len(text) - literals + 1)
		plain = append(plain, text[begin:begin+literals]...)
		if len(plain) == 0 {
			continue
		}
		distance := 1 + r.IntN(min(len(plain), lz4Far))
		if r.IntN(100) < near {
			distance = 1 + r.IntN(min(len(plain), 140))
		}
		packed = lz4Sequence(packed, text[begin:begin+literals], distance, n)
		for range n {
			plain = append(plain, plain[len(plain)-distance])
		}
	}
	tail := text[:5+r.IntN(40)]
	return lz4Sequence(packed, tail, 0, 0), append(plain, tail...)
}

// spoilt is packed with something wrong, most of the time.
func spoilt(r *rand.Rand, packed []byte) []byte {
	b := bytes.Clone(packed)
	switch r.IntN(4) {
	case 0:
		return b[:r.IntN(len(b)+1)]
	case 1:
		at := r.IntN(len(b))
		for i := at; i < min(len(b), at+1+r.IntN(300)); i++ {
			b[i] = 255
		}
	default:
		for range 1 + r.IntN(3) {
			b[r.IntN(len(b))] = byte(r.Uint32()) >> r.IntN(8)
		}
	}
	return b
}
