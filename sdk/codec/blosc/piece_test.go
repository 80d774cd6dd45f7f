package blosc

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Parts of blocks, and blocks by way of their packed bytes, are what the whole
// chunk has there; of damaged chunks, an error or anything. Blocks that reach
// into each other are damage that is seen where they are read one by one.
func FuzzPiece(f *testing.F) {
	for _, g := range chunkGoldens(f) {
		if len(g.Encoded) < 700 {
			f.Add(g.Encoded, uint16(3), uint16(40))
		}
	}
	for _, codec := range []Codec{BloscLZ, LZ4, Zlib, Zstd} {
		for _, filter := range []FilterID{NoFilter, Shuffle, BitShuffle} {
			b, err := Encode(nil, pattern(3000, 4), Params{Codec: codec, Level: 5, TypeSize: 4, BlockSize: 800, Filters: []Filter{{ID: filter}}})
			require.NoError(f, err)
			f.Add(b, uint16(777), uint16(9))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, from, n uint16) {
		c, err := Open(src, Options{Limit: 1 << 16})
		if err != nil {
			return
		}
		size := c.Header().Size
		lo := min(int(from), size)
		hi := min(lo+int(n), size)
		whole, wholeErr := c.Decode(nil)
		apart, err := open(c.Header(), reader{nil, bytes.NewReader(src)}, Options{Limit: 1 << 16}, true)
		if err != nil {
			require.Equal(t, fault.CodeCorrupt, fault.CodeOf(err))
			return
		}
		tidy := wholeErr != nil || c.blocksApart(src)
		for _, c := range []*Chunk{c, apart} {
			part, err := c.DecodeRange(lo, hi, []byte("head"))
			if c.apart && !tidy && err != nil {
				require.Equal(t, fault.CodeCorrupt, fault.CodeOf(err))
			} else if wholeErr == nil {
				require.NoError(t, err)
				require.True(t, bytes.Equal(whole[lo:hi], part[4:]))
			}
			if !c.Alone() || c.Blocks() > 1000 {
				continue
			}
			var buf []byte
			for i := range c.Blocks() {
				packed, err := c.PackedBlock(i, &buf)
				if err == nil {
					part, err = c.UnpackBlock(i, packed, part[:0])
				}
				if !tidy && err != nil {
					require.Equal(t, fault.CodeCorrupt, fault.CodeOf(err))
				} else if wholeErr == nil {
					from, to := c.Block(i)
					require.NoError(t, err)
					require.True(t, bytes.Equal(whole[from:to], part))
				}
			}
		}
	})
}

// Parts of blocks are right where some streams are packed, some stored and some
// one byte again and again, and the memory they are decoded in had others in it.
func TestPieceOfAllStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{1, 2, 4, 6, 8} {
		src := make([]byte, 60_000)
		for i := range src {
			switch i % size % 4 {
			case 0:
				src[i] = byte(r.Uint32())
			case 1:
				src[i] = byte(r.Uint32N(2)) << 7
			case 2:
				src[i] = byte(i >> 10)
			case 3:
				src[i] = 65
			}
		}
		for _, codec := range []Codec{BloscLZ, LZ4, Zstd} {
			for _, block := range []int{1200, 24_000} {
				for _, id := range []FilterID{NoFilter, Shuffle} {
					b, err := Encode(nil, src, Params{Codec: codec, Level: 5, TypeSize: size, BlockSize: block, Filters: []Filter{{ID: id}}})
					require.NoError(t, err)
					c, err := Open(b, Options{})
					require.NoError(t, err)
					for range 50 {
						lo := r.IntN(len(src))
						hi := min(lo+1+r.IntN(700), len(src))
						got, err := c.DecodeRange(lo, hi, nil)
						require.NoError(t, err)
						require.True(t, bytes.Equal(src[lo:hi], got), "%s, items of %d, %s, blocks of %d: %d..%d", codec, size, id, block, lo, hi)
					}
				}
			}
		}
	}
}

// blocksApart reports whether each block of a chunk that can be decoded ends
// before another one begins.
func (c *Chunk) blocksApart(src []byte) bool {
	if !c.h.packed() || c.h.Variable > 0 {
		return true
	}
	for i := range c.Blocks() {
		at := c.begin(i)
		for range c.h.streams(c.h.blockLen(i)) {
			size := int(int32(binary.LittleEndian.Uint32(src[at:])))
			at += 4
			if size < 0 && c.h.Extended {
				size = 1
			}
			at += size
		}
		if at > c.bound(i) {
			return false
		}
	}
	return true
}
