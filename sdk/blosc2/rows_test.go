package blosc2_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
)

// BenchmarkRows reads single rows of what packed weather data look like:
// smooth in both directions, with noise, rounded to 1/256.
func BenchmarkRows(b *testing.B) {
	const rows, columns = 8192, 1024
	r := rand.New(rand.NewPCG(7, 7))
	data := make([]byte, 0, rows*columns*4)
	for y := range rows {
		for x := range columns {
			at := float64(x) * 40 * math.Pi / columns
			v := 280 + 20*math.Sin(at+float64(y)*0.001)*math.Cos(float64(y)*0.0003) + r.NormFloat64()*0.3
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(math.Round(v*256)/256)))
		}
	}
	fs, err := file.OpenFS(b.TempDir())
	require.NoError(b, err)
	defer fs.Close()
	for _, tc := range []struct {
		name   string
		shape  blosc2.Shape
		mapped bool
	}{
		{"blocks of 32 rows", blosc2.Shape{Chunks: []int64{4096, columns}, Blocks: []int64{32, columns}}, false},
		{"mapped", blosc2.Shape{Chunks: []int64{4096, columns}, Blocks: []int64{32, columns}}, true},
		{"blocks of 16 rows", blosc2.Shape{Chunks: []int64{4096, columns}, Blocks: []int64{16, columns}}, false},
	} {
		b.Run(tc.name, func(b *testing.B) {
			tc.shape.Shape, tc.shape.DType = []int64{rows, columns}, "<f4"
			p := blosc.Params{Codec: blosc.LZ4, Level: 5, Filters: []blosc.Filter{5: {ID: blosc.Shuffle}}}
			a, err := blosc2.CreateArray(b.Context(), fs, tc.name, tc.shape, blosc2.Spec{Params: p}, writing)
			require.NoError(b, err)
			defer a.Close()
			require.NoError(b, a.SetSlice(b.Context(), nil, data))
			if tc.mapped {
				require.NoError(b, a.Close())
				c, err := blosc2.Open(b.Context(), fs, tc.name, blosc2.Options{Map: true})
				require.NoError(b, err)
				a = c.(*blosc2.NDArray)
			}
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				i := r.Int64N(rows)
				dst, err = a.Slice(b.Context(), []blosc2.Span{{Start: i, Stop: i + 1}, {Stop: columns}}, dst[:0])
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
