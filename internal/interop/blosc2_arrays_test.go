package interop

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
)

// dtypes are those that NumPy has names for, and lists of fields.
var dtypes = []string{
	"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16",
	">i2", ">i4", ">u8", ">f4", ">f8", ">c16", "|S1", "|S5", "|S16", "<U3", "<U10", ">U3",
	"<M8[D]", "<M8[ns]", "<M8[25s]", "<m8[ms]", ">M8[us]",
	"[('f0', 'V6')]",
	"[('a', '<i4'), ('b', '<f8'), ('c', 'S3')]",
	"[('a', 'u1'), ('f1', 'V7'), ('b', '<f8')]",
	"[('x', '<i2'), ('y', [('u', '<f4'), ('v', '<u8')]), ('z', '<f4', (2,))]",
	"[('x', '>i2'), ('y', [('u', '>f4'), ('v', '<u8')], (2, 3)), ('z', '>f4', (2,))]",
}

// arrayOf is an array of any values of the type.
func arrayOf(r *rand.Rand, t testing.TB, dtype string, shape, chunks, blocks []int64) frame {
	d, err := blosc2.ParseDType(dtype)
	require.NoError(t, err)
	count := int64(1)
	for _, n := range shape {
		count *= n
	}
	f := frame{Shape: shape, ChunkShape: chunks, BlockShape: blocks, DType: dtype}
	f.settings.TypeSize = int(d.Size())
	f.Data = items(r, r.IntN(6), int(d.Size()), int(count*d.Size()))
	for i := range f.Data {
		switch d.String()[1] {
		case 'b': // what else a bool may be, NumPy does not say
			f.Data[i] &= 1
		case 'U', 'S': // likewise characters; and zeros at the end are not part of a string
			f.Data[i] = 'a' + f.Data[i]%26
			if d.String()[1] == 'U' && (i%4 > 0) != (d.String()[0] == '>' && i%4 != 1) {
				f.Data[i] = 0
			}
		}
	}
	f.label = fmt.Sprintf("%s of %v, chunks %v, blocks %v", dtype, shape, chunks, blocks)
	return f
}

// Every data type, and every number of axes, with sides that chunks and blocks
// do not divide, and none at all.
func TestBlosc2Arrays(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var frames []frame
	add := func(f frame) {
		f.Sparse = len(frames)%4 == 3
		f.settings.Codec = blosc2Codecs[len(frames)%len(blosc2Codecs)]
		f.settings.Level = 1 + len(frames)%9
		f.settings.Filters = pipelines[len(frames)%5].filters
		if f.settings.TypeSize%4 > 0 && len(f.settings.Filters) > 0 {
			f.settings.Filters = []blosc.Filter{{ID: blosc.Shuffle}}
		}
		f.label += fmt.Sprintf(", %s level %d, %v", f.settings.Codec, f.settings.Level, f.settings.Filters)
		frames = append(frames, f)
	}
	for _, dtype := range dtypes {
		add(arrayOf(r, t, dtype, []int64{}, []int64{}, []int64{}))
		add(arrayOf(r, t, dtype, []int64{1000}, []int64{300}, []int64{70}))
		add(arrayOf(r, t, dtype, []int64{37, 29}, []int64{16, 29}, []int64{5, 8}))
	}
	for axes := 1; axes <= 16; axes++ {
		times, most := 12, []int64{0, 3000, 60, 16, 9, 6, 5, 4, 4}[min(axes, 8)]
		if axes > 8 { // two of the sides are longer than 1 or 2
			times, most = 4, 2
		}
		for range times {
			var shape, chunks, blocks []int64
			for axis := range axes {
				n := 1 + r.Int64N(most)
				if axes > 8 && axis%7 == 3 {
					n = 1 + r.Int64N(5)
				}
				chunk := 1 + r.Int64N(n)
				shape, chunks, blocks = append(shape, n), append(chunks, chunk), append(blocks, 1+r.Int64N(chunk))
			}
			add(arrayOf(r, t, dtypes[r.IntN(20)], shape, chunks, blocks))
		}
	}
	add(arrayOf(r, t, "<f8", []int64{0}, []int64{5}, []int64{2}))
	add(arrayOf(r, t, "<i2", []int64{3, 0, 4}, []int64{2, 1, 4}, []int64{1, 1, 2}))
	add(arrayOf(r, t, "<i2", []int64{40, 50}, []int64{64, 64}, []int64{32, 32}))
	add(arrayOf(r, t, "|u1", []int64{256, 257}, []int64{256, 257}, []int64{256, 257})) // about 2^16 in a chunk
	add(arrayOf(r, t, "|u1", []int64{1<<16 + 1}, []int64{1 << 16}, []int64{1 << 16}))
	add(arrayOf(r, t, "|u1", []int64{1<<16 - 1}, []int64{1<<16 - 1}, []int64{1<<15 + 1}))
	for _, dtype := range dtypes {
		f := arrayOf(r, t, dtype, []int64{50, 70}, []int64{20, 30}, []int64{7, 30})
		f.Full, f.Data = true, bytes.Repeat(f.Data[:f.settings.TypeSize], 50*70)
		f.label += ", full"
		add(f)
	}
	require.Empty(t, bothWays(t, frames))
}
