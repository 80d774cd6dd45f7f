package blosc2_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/storage"
)

// A block that is kept is not what the file was when somebody writes into it,
// in place and without a trace.
func TestKeptBlocksAreNeverStale(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer fs.Close()
	const rows, columns = 64, 256
	r := rand.New(rand.NewPCG(1, 1))
	data := make([]byte, rows*columns)
	for y := range rows {
		for x := range columns / 2 { // the other half are zeros: it pays to pack
			data[y*columns+x] = byte(r.Uint32())
		}
	}
	for _, o := range []blosc2.Options{{}, {Map: true}} {
		shape := blosc2.Shape{Shape: []int64{rows, columns}, DType: "|u1", Chunks: []int64{32, columns}, Blocks: []int64{8, columns}}
		spec := blosc2.Spec{Replace: true, Params: blosc.Params{Codec: blosc.LZ4, Level: 5}}
		w, err := blosc2.CreateFrom(ctx, fs, "a", shape, data, spec, writing)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		if o.Map {
			mappings(t, fs, "a")
		}
		c, err := blosc2.Open(ctx, fs, "a", o)
		require.NoError(t, err)
		a := c.(*blosc2.NDArray)
		row := func(y int64) []byte {
			b, err := a.Slice(ctx, []blosc2.Span{{y, y + 1, 1}, {0, columns, 1}}, nil)
			require.NoError(t, err)
			return b
		}
		for y := range int64(rows) {
			require.Equal(t, data[y*columns:(y+1)*columns], row(y))
		}
		for range 200 { // there and back, in all blocks
			y := r.Int64N(rows)
			for k := y; k < min(y+3, rows); k++ {
				require.Equal(t, data[k*columns:(k+1)*columns], row(k))
			}
		}
		for range 3 {
			require.Equal(t, data[9*columns:10*columns], row(9))
		}
		name := filepath.Join(dir, "a")
		info, err := os.Stat(name)
		require.NoError(t, err)
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		at := bytes.Index(b, data[9*columns:9*columns+64]) // literals
		require.Positive(t, at)
		f, err := fs.Open(ctx, "a", storage.OpenRead|storage.OpenWrite)
		require.NoError(t, err)
		_, err = f.WriteAt([]byte{^b[at]}, int64(at))
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.NoError(t, os.Chtimes(name, info.ModTime(), info.ModTime()))
		require.Equal(t, ^data[9*columns], row(9)[0])
		require.NoError(t, a.Close())
	}
}

// BenchmarkRowByRow reads all rows of an array in their order.
func BenchmarkRowByRow(b *testing.B) {
	fs := storage.NewMemoryFS(0)
	const rows, columns = 4096, 1024
	data := make([]byte, rows*columns)
	for i := range data {
		data[i] = byte(i*i>>7 + i%3)
	}
	shape := blosc2.Shape{Shape: []int64{rows, columns}, DType: "|u1", Chunks: []int64{1024, columns}, Blocks: []int64{32, columns}}
	a, err := blosc2.CreateFrom(b.Context(), fs, "a", shape, data, blosc2.Spec{}, writing)
	require.NoError(b, err)
	defer a.Close()
	var dst []byte
	for i := 0; b.Loop(); i++ {
		y := int64(i % rows)
		if dst, err = a.Slice(b.Context(), []blosc2.Span{{y, y + 1, 1}, {0, columns, 1}}, dst[:0]); err != nil {
			b.Fatal(err)
		}
	}
}
