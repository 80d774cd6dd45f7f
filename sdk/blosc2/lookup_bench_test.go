package blosc2_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
)

// looked is an array of 10,000 integers in a file, opened for reading, with four
// values of variable-length metadata.
func looked(b *testing.B, locking blosc2.Locking) *blosc2.NDArray {
	fs, err := file.OpenFS(b.TempDir())
	require.NoError(b, err)
	b.Cleanup(func() { _ = fs.Close() })
	shape := blosc2.Shape{DType: "<i8", Shape: []int64{10_000}, Chunks: []int64{1_000}, Blocks: []int64{1_000}}
	w, err := blosc2.CreateArray(b.Context(), fs, "a.b2nd", shape, blosc2.Spec{}, writing)
	require.NoError(b, err)
	require.NoError(b, w.SetSlice(b.Context(), nil, make([]byte, 80_000)))
	for _, name := range [...]string{"k0", "k1", "k2", "k3"} {
		require.NoError(b, w.SChunk().SetVLObject(b.Context(), name, int64(7)))
	}
	require.NoError(b, w.Close())
	c, err := blosc2.Open(b.Context(), fs, "a.b2nd", blosc2.Options{Locking: locking})
	require.NoError(b, err)
	b.Cleanup(func() { _ = c.Close() })
	return c.(*blosc2.NDArray)
}

var lockings = map[string]blosc2.Locking{"unlocked": blosc2.Unlocked, "locked": blosc2.Locked}

// BenchmarkRefresh looks whether an array changed that did not.
func BenchmarkRefresh(b *testing.B) {
	for _, name := range []string{"unlocked", "locked"} {
		a := looked(b, lockings[name])
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if changed, err := a.Refresh(b.Context()); err != nil || changed {
					b.Fatal(changed, err)
				}
			}
		})
	}
}

// BenchmarkVLMeta looks values up by name.
func BenchmarkVLMeta(b *testing.B) {
	for _, name := range []string{"unlocked", "locked"} {
		s := looked(b, lockings[name]).SChunk()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := s.VLObject(b.Context(), [...]string{"k0", "k1", "k2", "k3"}[i%4]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
