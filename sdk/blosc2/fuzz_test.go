package blosc2

import (
	"bytes"
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// goldens are the files below testdata/blosc2 that match, by name.
func goldens(t testing.TB, patterns ...string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, p := range patterns {
		names, err := filepath.Glob(filepath.Join("..", "..", "testdata", "blosc2", filepath.FromSlash(p)))
		require.NoError(t, err)
		require.NotEmpty(t, names, p)
		for _, name := range names {
			b, err := os.ReadFile(name)
			require.NoError(t, err)
			all[name] = b
		}
	}
	return all
}

func refusal(t *testing.T, err error) {
	t.Helper()
	code := fault.CodeOf(err)
	require.Contains(t, []fault.Code{fault.CodeCorrupt, fault.CodeUnsupported, fault.CodeLimit, fault.CodeNotFound, fault.CodeInvalid}, code, err.Error())
}

// What is written of a parsed header and trailer is what was read, byte for
// byte.
func TestHeadersAndTrailersRoundTrip(t *testing.T) {
	n := 0
	for name, b := range goldens(t, "*/*.b2nd", "*/*.b2frame", "*/*.b2b", "store/*.b2e", "sparse/*/*.b2frame", "schunk/*/*.b2frame") {
		if strings.Contains(name, "corrupt") {
			continue
		}
		h, err := ParseHeader(b)
		require.NoError(t, err, name)
		meta, err := ParseMetalayers(b[:h.HeaderLen], fixedLen, maxMetalayers)
		require.NoError(t, err, name)
		d := &draft{Header: h, meta: meta, raw: b[:h.HeaderLen]}
		require.Equal(t, hex.EncodeToString(b[:h.HeaderLen]), hex.EncodeToString(d.header()), name)
		fresh := newHeader(h, meta)
		copy(fresh[62:68], b[62:68]) // threads
		require.Equal(t, hex.EncodeToString(b[:h.HeaderLen]), hex.EncodeToString(fresh), name)

		size, err := ParseTrailerLen(b)
		require.NoError(t, err)
		vl, err := ParseTrailer(b[int64(len(b))-size:])
		require.NoError(t, err)
		require.Equal(t, hex.EncodeToString(b[int64(len(b))-size:]), hex.EncodeToString(trailer(vl)), name)
		if layer, ok := find(meta, shapeLayer); ok {
			s, err := ParseShape(layer)
			require.NoError(t, err)
			require.Equal(t, hex.EncodeToString(layer), hex.EncodeToString(s.append(nil)), name)
		}
		n++
	}
	require.Greater(t, n, 250)
}

func FuzzOpen(f *testing.F) {
	for _, b := range goldens(f, "tiny/*.b2nd", "schunk/v*.b2frame", "vlblocks/*", "empty/*", "store/*.b2e", "store/tree.b2z") {
		if len(b) < 20_000 {
			f.Add(b)
		}
	}
	limits := Limits{Index: 1 << 20, Chunk: 1 << 20, Meta: 1 << 20}
	f.Fuzz(func(t *testing.T, b []byte) {
		ctx := context.Background()
		fs := storage.NewMemoryFS(0)
		w, err := fs.Open(ctx, "f", storage.OpenWrite|storage.OpenCreate)
		require.NoError(t, err)
		_, err = w.WriteAt(b, 0)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		c, err := Open(ctx, fs, "f", Options{Limits: limits})
		if err != nil {
			refusal(t, err)
			return
		}
		defer c.Close()
		if _, err := c.Describe(ctx); err != nil {
			refusal(t, err)
		}
		var s *SChunk
		switch c := c.(type) {
		case *NDArray:
			s = c.s
			spans := make([]Span, len(c.Shape().Shape))
			for i, n := range c.Shape().Shape {
				spans[i] = Span{0, min(n, 3), 1}
			}
			if got, err := c.Slice(ctx, spans, nil); err != nil {
				refusal(t, err)
			} else {
				require.Zero(t, int64(len(got))%c.DType().Size())
			}
		case *SChunk:
			s = c
		case *EmbedStore:
			s = c.s
			keys, err := c.Keys(ctx)
			if err != nil {
				refusal(t, err)
			}
			for _, key := range keys {
				if leaf, err := c.Get(ctx, key); err != nil {
					refusal(t, err)
				} else {
					require.NoError(t, leaf.Close())
				}
			}
		}
		if s == nil {
			return
		}
		for i := range min(s.NumChunks(), 4) {
			if _, err := s.Chunk(ctx, i, nil); err != nil {
				refusal(t, err)
			}
		}
	})
}

func FuzzHeader(f *testing.F) {
	for _, b := range goldens(f, "tiny/*.b2nd", "schunk/v*.b2frame") {
		f.Add(b[:min(len(b), 400)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHeader(b)
		if err != nil {
			refusal(t, err)
			return
		}
		if h.HeaderLen > int64(len(b)) {
			return
		}
		if meta, err := ParseMetalayers(b[:h.HeaderLen], fixedLen, maxMetalayers); err == nil {
			again, err := ParseMetalayers(newHeader(h, meta), fixedLen, maxMetalayers)
			require.NoError(t, err)
			require.Equal(t, meta, again)
		}
	})
}

func FuzzTrailer(f *testing.F) {
	for _, b := range goldens(f, "schunk/v*.b2frame", "meta/*.b2nd") {
		n, err := ParseTrailerLen(b)
		require.NoError(f, err)
		f.Add(b[int64(len(b))-n:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		vl, err := ParseTrailer(b)
		if err != nil {
			refusal(t, err)
			return
		}
		again, err := ParseTrailer(trailer(vl))
		require.NoError(t, err)
		require.Len(t, again, len(vl))
		for i := range vl {
			require.Equal(t, vl[i].Name, again[i].Name)
			require.True(t, bytes.Equal(vl[i].Value, again[i].Value))
		}
	})
}

func FuzzIndex(f *testing.F) {
	for _, entries := range [][]int64{{0}, {0, 100, 200, 5000}, {Entry{Special: blosc.NaNs}.value(), 7}} {
		b, err := encodeIndex(entries)
		require.NoError(f, err)
		f.Add(b, len(entries))
	}
	f.Fuzz(func(t *testing.T, b []byte, count int) {
		x, err := newIndex(b, int64(count), 1<<20)
		if err != nil {
			refusal(t, err)
			return
		}
		for i := range min(x.count, 100) {
			if _, err := x.at(i); err != nil {
				refusal(t, err)
			}
		}
	})
}

func FuzzShape(f *testing.F) {
	f.Add(Shape{Shape: []int64{45, 67}, Chunks: []int64{20, 30}, Blocks: []int64{7, 11}, DType: "<i4"}.append(nil))
	f.Add(Shape{DType: "|u1"}.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseShape(b)
		if err != nil {
			refusal(t, err)
			return
		}
		again, err := ParseShape(s.append(nil))
		require.NoError(t, err)
		require.Equal(t, s, again)
	})
}

func FuzzDType(f *testing.F) {
	for _, text := range []string{"<f4", "|S5", "<U3", "<M8[ns]", ">i4", "[('a', '<i4'), ('b', '<f8'), ('c', 'S3')]",
		"[('x', '<i2'), ('y', [('u', '<f4'), ('v', '<u8')]), ('z', '<f4', (2,))]", "[('a', 'u1'), ('f1', 'V7'), ('b', '>f8', (2, 3))]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDType(text)
		if err != nil {
			require.ErrorIs(t, err, fault.ErrUnsupported)
			return
		}
		require.Positive(t, d.Size())
		for _, l := range d.lanes {
			require.LessOrEqual(t, l.off+l.width*l.count, d.Size())
		}
		if d.Size() < 1<<16 {
			d.LittleEndian(make([]byte, 2*d.Size()))
		}
	})
}

func FuzzEmbedMap(f *testing.F) {
	f.Add([]byte("\x82\xa9embed_map\x81\xa2/a\x82\xa6offset\x00\xa6length\x05\xaecurrent_offset\x05"), int64(9))
	f.Fuzz(func(t *testing.T, b []byte, size int64) {
		m, err := parseEmbedMap(b, size)
		if err != nil {
			refusal(t, err)
			return
		}
		for key, e := range m {
			require.NoError(t, CheckKey(key))
			require.True(t, e.remote || e.off >= 0 && e.n >= 0 && e.off+e.n <= size)
		}
	})
}

// 10 GB of nothing: a slice costs what it selects, whatever blocks there are.
func TestSliceOfHugeSpecialArray(t *testing.T) {
	ctx := t.Context()
	fs := storage.NewMemoryFS(0)
	for _, kind := range []blosc.Special{blosc.Zeros, blosc.NaNs, blosc.Uninit} {
		shape := Shape{Shape: []int64{20_000, 62_500}, Chunks: []int64{2000, 62_500}, Blocks: []int64{100, 62_500}, DType: "<f8"}
		a, err := CreateArray(ctx, fs, "big.b2nd", shape, Spec{Replace: true}, Options{})
		require.NoError(t, err)
		err = a.s.f.change(ctx, func(d *draft) error {
			for i := range d.entries {
				d.entries[i] = Entry{Special: kind}.value()
			}
			d.indexed = true
			return nil
		})
		require.NoError(t, err)
		var got []byte
		used := allocatedBytes(func() {
			got, err = a.Slice(ctx, []Span{{0, 20_000, 1999}, {5, 62_500, 10_000}}, nil)
		})
		require.NoError(t, err)
		require.Less(t, used, uint64(100<<20))
		item := got[:8]
		require.Equal(t, bytes.Repeat(item, 11*7), got)
		require.Equal(t, kind == blosc.NaNs, item[7] == 0x7f)
		require.NoError(t, a.Close())
	}
	info, err := fs.Stat(ctx, "big.b2nd")
	require.NoError(t, err)
	require.Less(t, info.Size, int64(2000))
}

func allocatedBytes(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
