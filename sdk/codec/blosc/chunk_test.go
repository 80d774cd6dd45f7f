package blosc

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

// chunkGolden is one entry of testdata/codec/blosc2/chunks.json.
type chunkGolden struct {
	Name     string `json:"name"`
	Encoded  []byte `json:"encoded"`
	TypeSize int    `json:"typesize"`
	Size     int    `json:"size"`
	SHA256   string `json:"sha256"`
}

// chunkGoldens are chunks of Blosc 2 that the C library wrote.
func chunkGoldens(t testing.TB) []chunkGolden {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "codec", "blosc2", "chunks.json"))
	require.NoError(t, err)
	var all []chunkGolden
	require.NoError(t, json.Unmarshal(b, &all))
	require.NotEmpty(t, all)
	return all
}

// TestChunkCoverage holds the goldens to what they are for.
func TestChunkCoverage(t *testing.T) {
	seen := map[string]int{}
	for _, g := range chunkGoldens(t) {
		h, err := ParseHeader(g.Encoded)
		require.NoError(t, err, g.Name)
		require.Equal(t, g.Size, h.Size)
		switch {
		case h.Special != NotSpecial:
			seen[fmt.Sprint("special ", h.Special)]++
			continue
		case h.Stored:
			seen["stored"]++
			continue
		case h.Dictionary:
			seen["dictionary "+h.Codec.String()]++
		}
		seen[h.Codec.String()]++
		for _, f := range h.Filters {
			seen[f.ID.String()]++
		}
		if h.streams(h.blockLen(0)) > 1 {
			seen["split"]++
		} else {
			seen["whole"]++
		}
		if h.blockLen(h.Blocks()-1) < h.BlockSize {
			seen["last block shorter"]++
		}
		for b := g.Encoded[h.Len()+4*h.Blocks():]; len(b) > 4; b = b[1:] {
			if v := int32(binary.LittleEndian.Uint32(b)); v < 0 && v >= -255 && b[4] == 1 {
				seen["run"]++
				break
			}
		}
	}
	for _, what := range []string{
		"special 1", "special 2", "special 3", "special 4", "stored", "dictionary lz4", "dictionary lz4hc", "dictionary zstd",
		"blosclz", "lz4", "lz4hc", "zlib", "zstd", "shuffle", "bitshuffle", "delta", "trunc_prec", "bytedelta", "int_trunc",
		"split", "whole", "last block shorter", "run",
	} {
		require.Positive(t, seen[what], what)
	}
}

// TestChunks decodes what the C library wrote: whole, block by block, in
// ranges, and from a reader.
func TestChunks(t *testing.T) {
	for _, g := range chunkGoldens(t) {
		t.Run(g.Name, func(t *testing.T) {
			t.Parallel() // scratch is pooled
			o := Options{TypeSize: g.TypeSize}
			c, err := Open(append(bytes.Clone(g.Encoded), "tail"...), o)
			require.NoError(t, err)
			whole, err := c.Decode([]byte("head"))
			require.NoError(t, err)
			require.Equal(t, "head", string(whole[:4]))
			whole = whole[4:]
			require.Equal(t, g.SHA256, sum(whole))

			apart, err := OpenAt(bytes.NewReader(g.Encoded), int64(len(g.Encoded)), o)
			require.NoError(t, err)
			part, err := open(c.Header(), reader{g.Encoded[:c.Header().Len()], bytes.NewReader(g.Encoded)}, o, true)
			require.NoError(t, err)
			r := rand.New(rand.NewPCG(1, 2))
			for _, c := range []*Chunk{c, apart, part} {
				for i := c.Blocks() - 1; i >= 0; i-- {
					from, to := c.Block(i)
					b, err := c.DecodeBlock(i, []byte("head"))
					require.NoError(t, err)
					require.True(t, bytes.Equal(whole[from:to], b[4:]), "block %d", i)
				}
				for range 5 {
					from := r.IntN(len(whole) + 1)
					to := from + r.IntN(len(whole)-from+1)
					b, err := c.DecodeRange(from, to, nil)
					require.NoError(t, err)
					require.True(t, bytes.Equal(whole[from:to], b), "%d..%d", from, to)
				}
			}
			if g.Size > 1 {
				_, err = Open(g.Encoded, Options{Limit: g.Size - 1})
				require.ErrorIs(t, err, fault.ErrLimit)
			}
		})
	}
}

func chunkNamed(t testing.TB, name string) []byte {
	for _, g := range chunkGoldens(t) {
		if g.Name == name {
			return g.Encoded
		}
	}
	t.Fatalf("no golden %s", name)
	return nil
}

func decodeChunk(b []byte) error {
	c, err := Open(b, Options{})
	if err == nil {
		_, err = c.Decode(nil)
	}
	return err
}

// TestChunkRefused are the checks of the format, one by one.
func TestChunkRefused(t *testing.T) {
	put := func(at int, v int32) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[at:], uint32(v)); return b }
	}
	set := func(at int, v byte) func([]byte) []byte {
		return func(b []byte) []byte { b[at] = v; return b }
	}
	const starts = ExtendedHeaderSize
	for _, tc := range []struct {
		name, of string
		edit     func([]byte) []byte
		want     error
	}{
		{"cut", "LZ4_plain_NEVER_SPLIT", func(b []byte) []byte { return b[:len(b)-1] }, fault.ErrCorrupt},
		{"cut in its header", "LZ4_plain_NEVER_SPLIT", func(b []byte) []byte { return b[:20] }, fault.ErrCorrupt},
		{"nbytes of 2 GiB", "LZ4_plain_NEVER_SPLIT", put(4, 1<<31-1), fault.ErrCorrupt},
		{"more blocks than starts", "LZ4_plain_NEVER_SPLIT", put(4, 1<<30), fault.ErrCorrupt},
		{"nbytes negative", "LZ4_plain_NEVER_SPLIT", put(4, -1), fault.ErrCorrupt},
		{"block size 0", "LZ4_plain_NEVER_SPLIT", put(8, 0), fault.ErrCorrupt},
		{"block size 1", "LZ4_plain_NEVER_SPLIT", put(8, 1), fault.ErrCorrupt},
		{"block size too large", "LZ4_plain_NEVER_SPLIT", put(8, MaxBlockSize+1), fault.ErrCorrupt},
		{"cbytes less than the header", "LZ4_plain_NEVER_SPLIT", put(12, 16), fault.ErrCorrupt},
		{"cbytes more than there are", "LZ4_plain_NEVER_SPLIT", put(12, 1<<30), fault.ErrCorrupt},
		{"type size 0", "LZ4_plain_NEVER_SPLIT", set(3, 0), fault.ErrCorrupt},
		{"version 0", "LZ4_plain_NEVER_SPLIT", set(0, 0), fault.ErrUnsupported},
		{"a newer version with features", "LZ4_plain_NEVER_SPLIT", func(b []byte) []byte { b[0], b[30] = 7, 2; return b }, fault.ErrUnsupported},
		{"format 5", "LZ4_plain_NEVER_SPLIT", set(2, 0xb5), fault.ErrUnsupported},
		{"codec of a user", "LZ4_plain_NEVER_SPLIT", func(b []byte) []byte { b[2], b[22] = 0xd5, 200; return b }, fault.ErrUnsupported},
		{"filter 99", "LZ4_plain_NEVER_SPLIT", set(16, 99), fault.ErrUnsupported},
		{"lazy", "LZ4_plain_NEVER_SPLIT", set(31, 8), fault.ErrCorrupt},
		{"instrumented", "LZ4_plain_NEVER_SPLIT", set(31, 0x80), fault.ErrUnsupported},
		{"special 7", "LZ4_plain_NEVER_SPLIT", set(31, 0x70), fault.ErrCorrupt},
		{"start negative", "LZ4_plain_NEVER_SPLIT", put(starts, -1), fault.ErrCorrupt},
		{"start in the starts", "LZ4_plain_NEVER_SPLIT", put(starts, starts), fault.ErrCorrupt},
		{"start past the end", "LZ4_plain_NEVER_SPLIT", put(starts, 1<<20), fault.ErrCorrupt},
		{"stream past the end", "size_257", put(starts+4, 1<<20), fault.ErrCorrupt},
		{"run of -300", "size_257", put(starts+4, -300), fault.ErrCorrupt},
		{"run with token 0", "size_257", func(b []byte) []byte { return put(starts+4, -3)(set(starts+8, 0)(b)) }, fault.ErrCorrupt},
		{"dictionary of 2 GiB", "dictionary_ZSTD_plain", func(b []byte) []byte { return put(starts+4*12, 1<<31-1)(b) }, fault.ErrCorrupt},
		{"dictionary of nothing", "dictionary_ZSTD_plain", func(b []byte) []byte { return put(starts+4*12, 0)(b) }, fault.ErrCorrupt},
		{"dictionary of another codec", "dictionary_ZSTD_plain", set(2, 0x15), fault.ErrCorrupt},
		{"dictionary damaged", "dictionary_ZSTD_plain", set(starts+4*12+4, 0), fault.ErrCorrupt},
		{"zlib damaged", "ZLIB_plain_NEVER_SPLIT", func(b []byte) []byte { b[len(b)-1] ^= 1; return b }, fault.ErrCorrupt},
		{"stored, but packed", "LZ4_plain_NEVER_SPLIT", set(2, 0x37), fault.ErrCorrupt},
		{"repeated and no multiple", "special_VALUE_8", put(4, 81), fault.ErrCorrupt},
		{"repeated without a value", "special_VALUE_8", put(12, 32), fault.ErrCorrupt},
		{"NaN of 2 bytes", "special_NAN_4", set(3, 2), fault.ErrCorrupt},
		{"uninitialised and no multiple", "special_UNINIT_4", put(4, 81), fault.ErrCorrupt},
		{"blocks of any lengths and special", "special_NAN_4", set(30, 1), fault.ErrCorrupt},
		{"blocks of any lengths and stored", "level_0", set(30, 1), fault.ErrCorrupt},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := bytes.Clone(chunkNamed(t, tc.of))
			require.NoError(t, decodeChunk(b))
			require.ErrorIs(t, decodeChunk(tc.edit(b)), tc.want)
		})
	}
}

// The C library up to 3.3.5 can write a block size that it did not use.
func TestBlockSizeThatWasNotUsed(t *testing.T) {
	src := pattern(1003, 1)
	b, err := Encode(nil, src, Params{Codec: LZ4, Level: 5, TypeSize: 8, Filters: []Filter{{ID: Shuffle}}})
	require.NoError(t, err)
	require.EqualValues(t, 1000, binary.LittleEndian.Uint32(b[8:]))
	binary.LittleEndian.PutUint32(b[8:], 1003)
	c, err := Open(b, Options{})
	require.NoError(t, err)
	got, err := c.Decode(nil)
	require.NoError(t, err)
	require.Equal(t, src, got)
}

func TestPlugins(t *testing.T) {
	b := bytes.Clone(chunkNamed(t, "LZ4_plain_NEVER_SPLIT"))
	b[2], b[22], b[23], b[17] = 0xd5, 160, 9, 161
	_, err := Open(b, Options{})
	require.ErrorContains(t, err, "codec 160")
	o := Options{Plugins: Plugins{
		Codecs: map[Codec]func(dst, src []byte, h Header) error{160: func(dst, _ []byte, h Header) error {
			require.EqualValues(t, 9, h.CodecMeta)
			fillByte(dst, 3)
			return nil
		}},
		Filters: map[FilterID]func(dst, src []byte, f Filter, h Header) error{161: func(dst, src []byte, _ Filter, _ Header) error {
			for i, v := range src {
				dst[i] = v + 1
			}
			return nil
		}},
	}}
	c, err := Open(b, o)
	require.NoError(t, err)
	got, err := c.DecodeBlock(1, nil)
	require.NoError(t, err)
	require.Equal(t, bytes.Repeat([]byte{4}, 1024), got)
}

// failing reads like r, but counts bytes and fails past an offset.
type failing struct {
	r    io.ReaderAt
	read int
	end  int64
}

func (f *failing) ReadAt(b []byte, off int64) (int, error) {
	if f.end > 0 && off+int64(len(b)) > f.end {
		return 0, fault.ErrIO
	}
	f.read += len(b)
	return f.r.ReadAt(b, off)
}

// TestReaderReadsTheBlock: a block costs its own bytes, not the chunk's.
func TestReaderReadsTheBlock(t *testing.T) {
	src := make([]byte, 1<<20)
	r := rand.New(rand.NewPCG(7, 7))
	for i := range src {
		src[i] = byte(r.Uint32N(20))
	}
	for _, p := range []Params{
		{Codec: LZ4, Level: 5, TypeSize: 4, BlockSize: 1 << 14, Filters: []Filter{{ID: Shuffle}}},
		{Level: 0, BlockSize: 1 << 14},
	} {
		b, err := Encode(nil, src, p)
		require.NoError(t, err)
		f := &failing{r: bytes.NewReader(b)}
		c, err := OpenAt(f, int64(len(b)), Options{})
		require.NoError(t, err)
		require.LessOrEqual(t, f.read, ahead)
		got, err := c.DecodeBlock(30, nil)
		require.NoError(t, err)
		require.True(t, bytes.Equal(src[30<<14:31<<14], got))
		require.LessOrEqual(t, f.read, ahead+1<<14+100)
		f.end = int64(len(b)) - 10
		_, err = c.DecodeBlock(63, nil)
		require.ErrorIs(t, err, fault.ErrIO)
		short, err := OpenAt(bytes.NewReader(b[:len(b)-1]), int64(len(b)), Options{})
		require.NoError(t, err)
		_, err = short.Decode(nil)
		require.ErrorIs(t, err, fault.ErrCorrupt)
	}
}

func FuzzChunk(f *testing.F) {
	for _, g := range chunkGoldens(f) {
		if len(g.Encoded) < 700 || strings.HasPrefix(g.Name, "dictionary") {
			f.Add(g.Encoded)
		}
	}
	b, err := EncodeBlocks(nil, [][]byte{pattern(300, 1), pattern(5, 2)}, Params{Codec: LZ4, Level: 5})
	require.NoError(f, err)
	f.Add(b)
	f.Fuzz(func(t *testing.T, src []byte) {
		const limit = 1 << 17
		c, err := Open(src, Options{Limit: limit})
		if err != nil {
			require.Contains(t, []fault.Code{fault.CodeCorrupt, fault.CodeLimit, fault.CodeUnsupported}, fault.CodeOf(err))
			return
		}
		whole, err := c.Decode(nil)
		if err != nil {
			require.Contains(t, []fault.Code{fault.CodeCorrupt, fault.CodeUnsupported}, fault.CodeOf(err))
			return
		}
		require.Len(t, whole, c.Header().Size)
		part, err := open(c.Header(), reader{nil, bytes.NewReader(src)}, Options{Limit: limit}, true)
		require.NoError(t, err)
		tidy := c.blocksApart(src)
		for i := range min(c.Blocks(), 50) {
			from, to := c.Block(i)
			for _, c := range []*Chunk{c, part} {
				b, err := c.DecodeBlock(i, nil)
				if c == part && err != nil && !tidy { // as in FuzzPiece
					require.Equal(t, fault.CodeCorrupt, fault.CodeOf(err))
					continue
				}
				require.NoError(t, err)
				require.True(t, bytes.Equal(whole[from:to], b))
			}
		}
	})
}
