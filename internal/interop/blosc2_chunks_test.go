package interop

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
)

var blosc2Codecs = []blosc.Codec{blosc.BloscLZ, blosc.LZ4, blosc.LZ4HC, blosc.Zlib, blosc.Zstd}

// pipelines are filters, and the sizes of items that they can be had for.
var pipelines = []struct {
	name    string
	filters []blosc.Filter
	sizes   []int
}{
	{"none", nil, []int{1, 4, 300}},
	{"shuffle", []blosc.Filter{{ID: blosc.Shuffle}}, []int{8, 1, 4, 3, 24, 255, 16, 300}},
	{"shuffle in the last slot", []blosc.Filter{5: {ID: blosc.Shuffle}}, []int{2, 17}},
	{"shuffle of halves", []blosc.Filter{{ID: blosc.Shuffle, Meta: 4}}, []int{8}},
	{"bitshuffle", []blosc.Filter{{ID: blosc.BitShuffle}}, []int{4, 1, 8, 3, 16, 300}},
	{"delta", []blosc.Filter{{ID: blosc.Delta}}, []int{4, 1, 2, 8, 24, 5, 300}},
	{"delta, shuffle", []blosc.Filter{{ID: blosc.Delta}, {ID: blosc.Shuffle}}, []int{8, 3, 16}},
	{"delta, bitshuffle", []blosc.Filter{{ID: blosc.Delta}, {ID: blosc.BitShuffle}}, []int{4, 7}},
	{"shuffle, bytedelta", []blosc.Filter{{ID: blosc.Shuffle}, {ID: blosc.ByteDelta}}, []int{8, 4, 3, 16}},
	{"shuffle, bytedelta of 4 lanes", []blosc.Filter{{ID: blosc.Shuffle}, {ID: blosc.ByteDelta, Meta: 4}}, []int{4}},
	{"trunc_prec, shuffle", []blosc.Filter{{ID: blosc.TruncPrec, Meta: 10}, {ID: blosc.Shuffle}}, []int{4, 8}},
	{"trunc_prec, bitshuffle", []blosc.Filter{{ID: blosc.TruncPrec, Meta: 3}, {ID: blosc.BitShuffle}}, []int{8, 4}},
	{"int_trunc, shuffle", []blosc.Filter{{ID: blosc.IntTrunc, Meta: 7}, {ID: blosc.Shuffle}}, []int{2, 4, 8, 1}},
}

var splits = []blosc.Split{blosc.SplitAlways, blosc.SplitNever, blosc.SplitAuto, blosc.SplitForward}

// items makes n bytes of items of one of a few kinds of content.
func items(r *rand.Rand, kind, size, n int) []byte {
	b := make([]byte, n)
	switch kind % 6 {
	case 0: // a wave with some noise
		for at := 0; at+size <= n; at += size {
			x := math.Sin(float64(at/size)/50)*1000 + r.Float64()
			if size == 4 {
				binary.LittleEndian.PutUint32(b[at:], math.Float32bits(float32(x)))
				continue
			}
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], math.Float64bits(x))
			copy(b[at:at+size], word[:])
		}
	case 1: // counting up, by leaps
		v := uint64(0)
		for at := 0; at < n; at += size {
			v += r.Uint64N(5)
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], v)
			copy(b[at:min(at+size, n)], word[:])
		}
	case 2: // noise
		for i := range b {
			b[i] = byte(r.Uint32())
		}
	case 3: // runs, some of them as long as blocks
		for at := 0; at < n; {
			end := min(at+1+r.IntN(3000), n)
			v := byte(r.IntN(3) * 100)
			for ; at < end; at++ {
				b[at] = v
			}
		}
	case 4: // a phrase that comes back
		phrase := make([]byte, 200)
		for i := range phrase {
			phrase[i] = byte(r.Uint32())
		}
		for at := 0; at < n; {
			from := r.IntN(len(phrase))
			at += copy(b[at:], phrase[from:])
		}
	} // 5: zeros
	return b
}

// Every codec with every chain of filters, every way to split, with and
// without a dictionary; sizes of items, levels and block sizes go round.
func TestBlosc2Pipelines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var frames []frame
	for _, codec := range blosc2Codecs {
		for _, pipe := range pipelines {
			for k, split := range splits {
				for _, dictionary := range []bool{false, true} {
					if dictionary && (codec == blosc.BloscLZ || codec == blosc.Zlib) {
						continue
					}
					i := len(frames)
					size := pipe.sizes[(k+i/7)%len(pipe.sizes)]
					f := frame{
						settings: blosc.Params{
							Codec: codec, Level: 1 + i%9, TypeSize: size, BlockSize: max([]int{0, 512, 2048}[i%3]/size, i%3) * size,
							Split: split, Dictionary: dictionary, Filters: pipe.filters,
						},
						Sparse: i%5 == 0,
					}
					f.ChunkSize = 8000 / size * size
					kinds := []int{i, i + 1, i + 2}
					if strings.Contains(pipe.name, "trunc") { // noise would be stored, with all its bits
						kinds = []int{3 + 2*(i%2), 3, 3}
					}
					f.Ops = appends(items(r, kinds[0], size, f.ChunkSize), items(r, kinds[1], size, f.ChunkSize), items(r, kinds[2], size, 1200/size*size))
					f.label = fmt.Sprintf("%s level %d, %s, items of %d, blocks of %d, split %d, dictionary %v",
						codec, f.settings.Level, pipe.name, size, f.settings.BlockSize, split, dictionary)
					frames = append(frames, f)
				}
			}
		}
	}
	met := bothWays(t, frames)
	require.Positive(t, met[noStreams])
	require.Len(t, met, 1)
}

// Chunks of all sizes at which something changes: from what is stored to what
// is packed, from one block to two, from whole items to parts of one. They lie
// in one frame, of varying chunks, and alone in one.
func TestBlosc2Sizes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var frames []frame
	add := func(codec blosc.Codec, level, size, blockSize int, filters []blosc.Filter, label string, lengths ...int) {
		f := frame{
			settings: blosc.Params{Codec: codec, Level: level, TypeSize: size, BlockSize: blockSize, Filters: filters},
			Sparse:   len(frames)%4 == 0,
		}
		for k, n := range lengths {
			if n > 0 {
				f.Ops = append(f.Ops, op{Do: "append", Data: items(r, len(frames)+k, size, n)})
			}
		}
		if lengths[0]%size == 0 { // else it is left open
			f.ChunkSize = lengths[0]
		}
		f.label = fmt.Sprintf("%s level %d, %s, items of %d, blocks of %d, chunks of %d bytes", codec, level, label, size, blockSize, lengths)
		frames = append(frames, f)
	}
	for i, codec := range blosc2Codecs {
		for k, pipe := range pipelines[:10] {
			size := pipe.sizes[(i+k)%len(pipe.sizes)]
			block := 1024 / min(size, 1024) * size
			around := []int{1, 31, 32, 33, 127, 128, 129, block - 1, block, block + 1, 3*block - 1, 3*block + 1}
			r.Shuffle(len(around), func(i, j int) { around[i], around[j] = around[j], around[i] })
			whole := slices.Clone(around)
			for i := range whole {
				whole[i] = max(whole[i]/size, 1) * size
			}
			add(codec, 5, size, block, pipe.filters, pipe.name, whole...)
			for _, n := range []int{around[k], around[(k+5)%len(around)]} {
				add(codec, 1+k%9, size, block, pipe.filters, pipe.name, n)
			}
			large := 1<<16 + (i+k)%3 - 1
			add(codec, 1+2*(k%5), size, 0, pipe.filters, pipe.name, large)
		}
		add(codec, 0, 4, 0, nil, "none", 0)
		add(codec, 0, 4, 0, nil, "none", 1<<16+1)
		add(codec, 0, 2, 64, pipelines[1].filters, "shuffle", 1000, 1000, 3)
	}
	met := bothWays(t, frames)
	for _, quirk := range []string{lostSizes, lostTails, wrongBlocks} {
		require.Positive(t, met[quirk], quirk)
	}
}
