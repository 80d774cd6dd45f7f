package storage

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPages does at random what files are for, to pages and to plain bytes.
func TestPages(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		var p pages
		var want []byte
		for range 60 {
			span := int64(2*pageSize + 100)
			if r.IntN(3) > 0 {
				span = 1000
			}
			off, n := r.Int64N(span), r.Int64N(span)
			if r.IntN(3) == 0 {
				off = off / pageSize * pageSize
			}
			switch r.IntN(4) {
			case 0:
				p.resize(off)
				want = append(want, make([]byte, max(0, off-int64(len(want))))...)[:off]
				want = bytes.Clone(want) // what is cut off does not come back
			case 1:
				p.zero(off, n)
				size := int64(len(want))
				clear(want[min(off, size):min(off+n, size)])
			default:
				b := bytes.Repeat([]byte{byte(1 + r.IntN(255))}, int(n))
				if end := off + n; end > p.size {
					p.resize(end)
					want = append(want, make([]byte, end-int64(len(want)))...)
				}
				p.write(b, off)
				copy(want[off:], b)
			}
			require.EqualValues(t, len(want), p.size)
			off = r.Int64N(span)
			got := bytes.Repeat([]byte{0xa5}, int(n))
			k := p.read(got, off)
			require.True(t, bytes.Equal(want[min(off, int64(len(want))):min(off+n, int64(len(want)))], got[:k]))
			require.Equal(t, bytes.Repeat([]byte{0xa5}, int(n)-k), got[k:])
		}
	}
}

func TestPagesOfSmallFiles(t *testing.T) {
	var p pages
	p.resize(10)
	p.write(make([]byte, 10), 0)
	require.LessOrEqual(t, cap(p.all[0]), 16, "a small file takes little")
	p.resize(1 << 30)
	require.Equal(t, 2, p.read(make([]byte, 9), 1<<30-2), "what nobody wrote takes no room")
}
