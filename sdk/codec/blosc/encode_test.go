package blosc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

// pattern is n bytes of one of several kinds.
func pattern(n int, kind uint64) []byte {
	r := rand.New(rand.NewPCG(kind, uint64(n)))
	b := make([]byte, n)
	switch kind % 6 {
	case 1: // numbers that grow
		v := uint32(0)
		for i := 0; i+4 <= n; i += 4 {
			v += r.Uint32N(3)
			binary.LittleEndian.PutUint32(b[i:], v)
		}
	case 2: // noise
		for i := range b {
			b[i] = byte(r.Uint32())
		}
	case 3: // few letters
		for i := range b {
			b[i] = byte(r.Uint32N(3))
		}
	case 4: // what was there before
		for i := 0; i < n; {
			if k := r.IntN(400); i > 0 && r.IntN(3) > 0 {
				from := r.IntN(i)
				i += copy(b[i:min(i+k, n)], b[from:i])
			} else {
				b[i] = byte(r.Uint32())
				i++
			}
		}
	case 5: // one value
		for i := range b {
			b[i] = 7
		}
	}
	return b
}

var written = []Codec{BloscLZ, LZ4, LZ4HC, Zlib, Zstd}

func TestRoundTrip(t *testing.T) {
	sizes := []int{0, 1, 15, 16, 31, 32, 33, 127, 128, 129, 1000, 4096, 65535, 65536, 65537, 100_003}
	pipelines := [][]Filter{
		nil, {{ID: Shuffle}}, {{ID: BitShuffle}}, {{ID: Delta}, {ID: Shuffle}}, {{ID: Delta}},
		{{ID: Shuffle}, {ID: ByteDelta}}, {{ID: Shuffle, Meta: 3}, {}, {ID: BitShuffle}, {ID: Shuffle, Meta: 2}, {ID: ByteDelta, Meta: 5}, {ID: Delta}},
	}
	for _, codec := range written {
		t.Run(codec.String(), func(t *testing.T) {
			t.Parallel()
			n := 0
			for _, size := range sizes {
				for kind := range uint64(6) {
					src := pattern(size, kind)
					for _, filters := range pipelines {
						n++
						p := Params{
							Codec: codec, Level: n % 10, Filters: filters, Split: Split(n % 5),
							TypeSize:   []int{0, 1, 2, 3, 4, 7, 8, 16, 17, 300}[n%9],
							BlockSize:  []int{0, 0, 4096, 1000}[n%4],
							Dictionary: n%3 == 0 && codec != BloscLZ && codec != Zlib,
						}
						if size > 5000 && p.Level > 6 && codec == Zlib {
							p.Level -= 4 // slow
						}
						b, err := Encode([]byte("head"), src, p)
						require.NoError(t, err)
						require.LessOrEqual(t, len(b), 4+ExtendedHeaderSize+size, "%+v", p)
						c, err := Open(b[4:], Options{TypeSize: p.TypeSize})
						require.NoError(t, err, "%+v of %d", p, size)
						require.Equal(t, len(b)-4, c.Header().PackedSize)
						if size > 0 {
							require.Equal(t, p.BlockSizeOf(size), c.Header().BlockSize, "%+v of %d", p, size)
						}
						got, err := c.Decode(nil)
						require.NoError(t, err, "%+v of %d", p, size)
						require.True(t, bytes.Equal(src, got), "%+v of %d", p, size)
						if len(filters) > 1 {
							continue
						}
						p.Dictionary = false
						b, err = Encode1([]byte("head"), src, p)
						if len(filters) == 1 && filters[0].ID == Delta {
							require.ErrorIs(t, err, fault.ErrInvalid)
							continue
						}
						require.NoError(t, err)
						require.LessOrEqual(t, len(b), 4+HeaderSize+size)
						got, err = Decode(nil, b[4:], size)
						require.NoError(t, err, "%+v of %d", p, size)
						require.True(t, bytes.Equal(src, got), "%+v of %d", p, size)
					}
				}
			}
		})
	}
}

func TestRoundTripOfBlocks(t *testing.T) {
	for _, codec := range written {
		blocks := [][]byte{pattern(300, 1), pattern(1, 2), pattern(5000, 4), pattern(77, 2), make([]byte, 40)}
		b, err := EncodeBlocks([]byte("head"), blocks, Params{Codec: codec, Level: 5, TypeSize: 4, Filters: []Filter{{ID: Shuffle}}})
		require.NoError(t, err)
		c, err := Open(b[4:], Options{})
		require.NoError(t, err)
		require.Equal(t, len(blocks), c.Blocks())
		for i, want := range blocks {
			got, err := c.DecodeBlock(i, nil)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		whole, err := c.Decode(nil)
		require.NoError(t, err)
		require.Equal(t, bytes.Join(blocks, nil), whole)
		binary.LittleEndian.PutUint32(b[4+32+4:], binary.LittleEndian.Uint32(b[4+32:])) // the second start is the first
		_, err = Open(b[4:], Options{})
		require.ErrorIs(t, err, fault.ErrCorrupt)
	}
	_, err := EncodeBlocks(nil, [][]byte{{}}, Params{Level: 1})
	require.ErrorIs(t, err, fault.ErrInvalid)
}

func TestSpecials(t *testing.T) {
	for _, tc := range []struct {
		kind  Special
		size  int
		ts    int
		value []byte
		want  []byte
	}{
		{Zeros, 1001, 4, nil, make([]byte, 1001)},
		{Uninit, 1000, 4, nil, make([]byte, 1000)},
		{NaNs, 8, 4, nil, bytes.Repeat(binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN()))), 2)},
		{NaNs, 16, 8, nil, bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}, 2)},
		{Repeated, 9, 3, []byte("abc"), []byte("abcabcabc")},
		{Repeated, 900, 300, pattern(300, 2), bytes.Repeat(pattern(300, 2), 3)},
	} {
		b, err := EncodeSpecial([]byte("head"), tc.kind, tc.size, tc.value, Params{TypeSize: tc.ts})
		require.NoError(t, err)
		require.Len(t, b, 4+ExtendedHeaderSize+len(tc.value))
		c, err := Open(b[4:], Options{})
		require.NoError(t, err)
		require.Equal(t, tc.kind, c.Header().Special)
		got, err := c.Decode(nil)
		require.NoError(t, err)
		require.Equal(t, tc.want, got)
		for from := range min(tc.size, 20) {
			part, err := c.DecodeRange(from, tc.size, nil)
			require.NoError(t, err)
			require.Equal(t, tc.want[from:], part)
		}
	}
	for _, p := range []struct {
		kind  Special
		size  int
		ts    int
		value []byte
	}{{NaNs, 8, 2, nil}, {NaNs, 9, 4, nil}, {Repeated, 8, 4, nil}, {Repeated, 8, 3, []byte("abc")}, {NotSpecial, 8, 4, nil}, {Zeros, -1, 1, nil}} {
		_, err := EncodeSpecial(nil, p.kind, p.size, p.value, Params{TypeSize: p.ts})
		require.ErrorIs(t, err, fault.ErrInvalid)
	}
}

// TestZeros: what is nothing but zeros becomes a special chunk by itself.
func TestZeros(t *testing.T) {
	b, err := Encode(nil, make([]byte, 100_000), Params{Codec: Zstd, Level: 5, TypeSize: 4, Filters: []Filter{{ID: Shuffle}}})
	require.NoError(t, err)
	require.Len(t, b, ExtendedHeaderSize)
}

func TestBitsThatAreDropped(t *testing.T) {
	src := pattern(800, 2)
	for _, tc := range []struct {
		f    Filter
		ts   int
		mask []byte
	}{
		{Filter{TruncPrec, 10}, 4, []byte{0x00, 0xe0, 0xff, 0xff}},
		{Filter{TruncPrec, 0xf8}, 4, []byte{0x00, 0xff, 0xff, 0xff}}, // -8
		{Filter{TruncPrec, 52}, 8, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		{Filter{IntTrunc, 3}, 1, []byte{0xe0}},
		{Filter{IntTrunc, 5}, 2, []byte{0x00, 0xf8}},
		{Filter{IntTrunc, 0xff}, 8, []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
	} {
		want := bytes.Clone(src)
		for i := range want {
			want[i] &= tc.mask[i%tc.ts]
		}
		for _, more := range [][]Filter{nil, {{ID: Delta}, {ID: Shuffle}}} {
			p := Params{Codec: LZ4, Level: 5, TypeSize: tc.ts, BlockSize: 160, Filters: append([]Filter{tc.f}, more...)}
			b, err := Encode(nil, src, p)
			require.NoError(t, err)
			if h, _ := ParseHeader(b); h.Stored { // as it is, with all its bits
				continue
			}
			c, err := Open(b, Options{})
			require.NoError(t, err)
			got, err := c.Decode(nil)
			require.NoError(t, err)
			require.Equal(t, want, got, "%+v", p)
		}
	}
}

func TestParamsRefused(t *testing.T) {
	for i, p := range []Params{
		{Codec: Snappy, Level: 1},
		{Codec: 32, Level: 1},
		{Level: 10},
		{Level: -1},
		{TypeSize: -1},
		{BlockSize: MaxBlockSize + 1},
		{Split: 5},
		{Filters: make([]Filter, 7)},
		{Filters: []Filter{{ID: ByteDeltaOld}}},
		{Filters: []Filter{{ID: NDCell}}},
		{TypeSize: 4, Filters: []Filter{{ID: Shuffle}, {ID: TruncPrec, Meta: 3}}},
		{TypeSize: 2, Filters: []Filter{{ID: TruncPrec, Meta: 3}}},
		{TypeSize: 4, Filters: []Filter{{ID: TruncPrec}}},
		{Codec: Zlib, Dictionary: true},
	} {
		_, err := Encode(nil, make([]byte, 100), p)
		require.ErrorIs(t, err, fault.ErrInvalid, "%d", i)
	}
}

// FuzzRoundTrip repeats src, so that few bytes make matches, runs and several
// blocks, and takes every parameter from how.
func FuzzRoundTrip(f *testing.F) {
	numbers := make([]byte, 0, 4096)
	for i := range 512 { // as sensors give them: planes of bytes differ much
		numbers = binary.LittleEndian.AppendUint64(numbers, math.Float64bits(1e6+float64(i*i%97)/8))
	}
	how := uint32(0)
	seed := func(src []byte, times int) {
		f.Add(src, times, how)
		how += 7919 // so that seeds differ in all parameters
	}
	for kind := range uint64(6) {
		for _, n := range []int{0, 1, 31, 32, 127, 128, 500, 4097} {
			seed(pattern(n, kind), 1)
		}
		seed(pattern(40, kind), 1700) // 68,000 bytes: blocks and matches beyond 64 KiB
	}
	for i := range 60 {
		seed(numbers[:64*(i+4)], 1+i%5*7)
		seed([]byte("all work and no play makes "), 1+i*i)
	}
	f.Fuzz(func(t *testing.T, src []byte, times int, how uint32) {
		if times < 1 || len(src)*times > 200_000 {
			return
		}
		src = bytes.Repeat(src, times)
		take := func(n uint32) int {
			v := how % n
			how /= n
			return int(v)
		}
		p := Params{Codec: written[take(5)], Level: take(10), TypeSize: take(20), Split: Split(take(5))}
		p.Filters = [][]Filter{
			nil, {{ID: Shuffle}}, {{ID: BitShuffle}}, {{ID: Delta}, {ID: Shuffle}, {ID: ByteDelta}}, {{ID: Delta}}, {{ID: BitShuffle}, {ID: Delta}},
		}[take(6)]
		p.BlockSize = take(50) * []int{9, 1000}[take(2)]
		p.Dictionary = take(2) > 0 && p.Codec != BloscLZ && p.Codec != Zlib
		b, err := Encode(nil, src, p)
		require.NoError(t, err)
		require.LessOrEqual(t, len(b), ExtendedHeaderSize+len(src))
		c, err := Open(b, Options{TypeSize: p.TypeSize})
		require.NoError(t, err)
		got, err := c.Decode(nil)
		require.NoError(t, err)
		require.True(t, bytes.Equal(src, got), "%+v", p)
	})
}

func BenchmarkChunk(b *testing.B) {
	src := pattern(4<<20, 1)
	for _, codec := range written {
		for _, f := range []FilterID{NoFilter, Shuffle, BitShuffle} {
			p := Params{Codec: codec, Level: 5, TypeSize: 4, Filters: []Filter{{ID: f}}}
			chunk, err := Encode(nil, src, p)
			require.NoError(b, err)
			c, err := Open(chunk, Options{})
			require.NoError(b, err)
			dst := make([]byte, 0, len(src)+100)
			b.Run(fmt.Sprintf("Encode/%v/%v", codec, f), func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				for b.Loop() {
					if _, err := Encode(dst, src, p); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("Decode/%v/%v", codec, f), func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				for b.Loop() {
					if _, err := c.Decode(dst); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
