package zstd

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Smooth bytes have many matches that are too short for a fast search to find any,
// and what a byte takes is sampled in all planes of few numbers. Bounds are what
// the reference library makes of such data, and 3 %.
func TestSmooth(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	walk, at := make([]byte, 16<<10), 0
	for i := range walk {
		at += r.IntN(7) - 3
		walk[i] = byte(at)
	}
	const numbers = 256 // of four planes, of which the first is zeros mostly
	planes := make([]byte, 4*numbers)
	for i := range numbers {
		v := math.Round((280+20*math.Sin(float64(i)/100)+0.3*r.NormFloat64())*256) / 256
		b := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v)))
		for k := range b {
			planes[k*numbers+i] = b[k]
		}
	}
	for _, c := range []struct {
		src         []byte
		level, most int
	}{{walk, 3, 14_750}, {walk, 4, 14_750}, {walk, 5, 14_750}, {walk, Numbers, 14_750}, {walk, 6, 14_750}, {planes, 1, 490}, {planes, 3, 460}, {planes, Numbers, 480}} {
		require.LessOrEqual(t, len(Encode(nil, c.src, c.level)), c.most, "%d bytes at %d", len(c.src), c.level)
	}
}
