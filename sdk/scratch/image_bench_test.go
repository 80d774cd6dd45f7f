package scratch

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkImage reads single images of 64 KiB, in random order, from scratches
// that are full.
func BenchmarkImage(b *testing.B) {
	d := newDesk(b, 128, 128)
	const per = 500
	d.write("a", 0, per)
	g := group(b, images("a"))
	for _, kind := range kinds {
		s, err := kind.create(d, g, 16, Everything)
		require.NoError(b, err)
		dst := make([]byte, 128*128*4)
		for i := range int64(per) {
			require.NoError(b, s.ReadImages(ctx, "a", dst, i))
		}
		next := rand.New(rand.NewPCG(1, 2))
		b.Run(kind.name, func(b *testing.B) {
			b.SetBytes(int64(len(dst)))
			b.ReportAllocs()
			for b.Loop() {
				if err := s.ReadImages(ctx, "a", dst, next.Int64N(per)); err != nil {
					b.Fatal(err)
				}
			}
		})
		require.NoError(b, s.Close())
	}
}
