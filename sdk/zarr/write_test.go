package zarr_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

func config(name, text string) zarr.Codec {
	return zarr.Codec{Name: name, Configuration: json.RawMessage(text)}
}

var (
	bytesLE = config("bytes", `{"endian":"little"}`)
	bytesBE = config("bytes", `{"endian":"big"}`)
	gzip1   = config("gzip", `{"level":1}`)
	crc     = zarr.Codec{Name: "crc32c"}
)

// layouts are the ways to cut and encode an array of shape (10,7).
var layouts = map[string]zarr.ArraySpec{
	"plain":     {ChunkShape: at(4, 4)},
	"sharded":   {ChunkShape: at(4, 4), SubchunkShape: at(2, 2)},
	"at start":  {ChunkShape: at(4, 6), SubchunkShape: at(2, 3), IndexAtStart: true, IndexCodecs: []zarr.Codec{bytesBE, crc}},
	"gzip, crc": {ChunkShape: at(4, 4), SubchunkShape: at(4, 2), Codecs: []zarr.Codec{bytesLE, gzip1, crc}},
	"big endian, transposed": {ChunkShape: at(6, 4), SubchunkShape: at(2, 4),
		Codecs: []zarr.Codec{config("transpose", `{"order":[1,0]}`), bytesBE}},
	"nested": {ChunkShape: at(8, 8), SubchunkShape: at(4, 4), Codecs: []zarr.Codec{config("sharding_indexed",
		`{"chunk_shape":[2,2],"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}`)}},
	"shard in crc": {ChunkShape: at(4, 4), Codecs: []zarr.Codec{config("sharding_indexed",
		`{"chunk_shape":[2,2],"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}`), crc}},
	"transposed shards": {ChunkShape: at(4, 6), Codecs: []zarr.Codec{config("transpose", `{"order":[1,0]}`), config("sharding_indexed",
		`{"chunk_shape":[3,2],"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":1,"checksum":true}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}`)}},
}

// What is written region by region reads back as an array in memory says.
func TestRegionsRoundTrip(t *testing.T) {
	for name, spec := range layouts {
		for _, order := range []zarr.SubchunkOrder{zarr.COrder, zarr.MortonOrder} {
			t.Run(fmt.Sprint(name, order), func(t *testing.T) {
				st := storage.NewMemory()
				spec.Shape, spec.DataType, spec.FillValue = at(10, 7), "uint16", json.RawMessage("9")
				a, err := zarr.CreateArray(t.Context(), st, "a/b", spec, zarr.Options{SubchunkOrder: order})
				require.NoError(t, err)
				model := make([]uint16, 70)
				for i := range model {
					model[i] = 9
				}
				r := rand.New(rand.NewPCG(7, 8))
				cache := a.ShardCache(zarr.CacheOptions{})
				for step := range 60 {
					y0, x0 := r.Int64N(11), r.Int64N(8)
					y1, x1 := y0+r.Int64N(11-y0), x0+r.Int64N(8-x0)
					var data []byte
					for y := y0; y < y1; y++ {
						for x := x0; x < x1; x++ {
							v := uint16(step * r.IntN(2)) // some equal to each other
							if step%5 == 0 {
								v = 9 // back to fill values
							}
							model[y*7+x] = v
							data = binary.LittleEndian.AppendUint16(data, v)
						}
					}
					require.NoError(t, a.StoreRegion(t.Context(), at(y0, x0), at(y1, x1), data))
					got, err := a.RetrieveRegion(t.Context(), at(0, 0), at(10, 7), zarr.ReadOptions{Cache: cache})
					require.NoError(t, err)
					require.Equal(t, u16(model...), got, "step %d", step)
				}
				_, err = zarr.Verify(t.Context(), st, "a/b", zarr.Options{}, func(d zarr.Damage) { t.Error(d) })
				require.NoError(t, err)
				nines := make([]uint16, 70)
				for i := range nines {
					nines[i] = 9
				}
				require.NoError(t, a.StoreRegion(t.Context(), at(0, 0), at(10, 7), u16(nines...)))
				names, err := st.List(t.Context(), "a/b/")
				require.NoError(t, err)
				require.Equal(t, []string{"zarr.json"}, names, "chunks of fill values alone are no objects")
			})
		}
	}
}

func TestStoreChunkAndSubchunk(t *testing.T) {
	st := storage.NewMemory()
	spec := layouts["sharded"]
	spec.Shape, spec.DataType = at(10, 7), "uint16"
	a, err := zarr.CreateArray(t.Context(), st, "", spec, zarr.Options{})
	require.NoError(t, err)
	require.NoError(t, a.StoreSubchunk(t.Context(), at(4, 3), u16(1, 2, 3, 4)))
	got, err := a.RetrieveSubchunk(t.Context(), at(4, 3), zarr.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, u16(1, 2, 3, 4), got, "what lies beyond the edge is stored too")
	chunk := make([]uint16, 16)
	for i := range chunk {
		chunk[i] = uint16(i + 1)
	}
	require.NoError(t, a.StoreChunk(t.Context(), at(1, 0), u16(chunk...)))
	got, err = a.RetrieveChunk(t.Context(), at(1, 0), zarr.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, u16(chunk...), got)
	require.NoError(t, a.EraseChunk(t.Context(), at(1, 0)))
	require.NoError(t, a.EraseChunk(t.Context(), at(1, 0)))
	got, err = a.RetrieveRegion(t.Context(), at(4, 0), at(5, 1), zarr.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, u16(0), got)

	require.ErrorIs(t, a.StoreSubchunk(t.Context(), at(5, 0), u16(1, 2, 3, 4)), fault.ErrOutOfRange)
	require.ErrorIs(t, a.StoreChunk(t.Context(), at(0), nil), fault.ErrInvalid)
	require.ErrorIs(t, a.StoreChunk(t.Context(), at(0, 0), u16(1)), fault.ErrInvalid)
	require.ErrorIs(t, a.StoreRegion(t.Context(), at(0, 0), at(11, 1), nil), fault.ErrOutOfRange)
	ro, err := zarr.OpenArray(t.Context(), readOnly{st}, "", zarr.Options{})
	require.NoError(t, err)
	require.ErrorIs(t, ro.StoreRegion(t.Context(), at(0, 0), at(1, 1), u16(1)), fault.ErrReadOnly)
}

type readOnly struct{ storage.Store }

// Report 12: parts of one shard written side by side are all there.
func TestReport12WritersOfOneShard(t *testing.T) {
	st := storage.NewMemory()
	_, err := zarr.CreateArray(t.Context(), st, "", zarr.ArraySpec{Shape: at(16), ChunkShape: at(16), SubchunkShape: at(1), DataType: "uint16"}, zarr.Options{})
	require.NoError(t, err)
	want := make([]uint16, 16)
	for i := range want {
		want[i] = uint16(i + 1)
	}
	together(16, func(i int) {
		a := open(t, st) // a handle each
		if err := a.StoreSubchunk(t.Context(), at(int64(i)), u16(want[i])); err != nil {
			t.Error(err)
		}
	})
	got, err := open(t, st).RetrieveRegion(t.Context(), at(0), at(16), zarr.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, u16(want...), got)
}

// meddler is a store to which another process writes between a read and a
// write.
type meddler struct {
	*storage.Memory
	times atomic.Int32
	act   func()
}

func (m *meddler) Put(ctx context.Context, key string, data []byte, c storage.Condition) (storage.Version, error) {
	if m.times.Add(-1) >= 0 {
		m.act()
	}
	return m.Memory.Put(ctx, key, data, c)
}

func TestAnotherProcessWritesMeanwhile(t *testing.T) {
	st := &meddler{Memory: storage.NewMemory()}
	a, err := zarr.CreateArray(t.Context(), st, "", zarr.ArraySpec{Shape: at(4), ChunkShape: at(4), SubchunkShape: at(1), DataType: "uint16"}, zarr.Options{})
	require.NoError(t, err)
	other := open(t, st.Memory)
	n := uint16(100)
	st.act = func() { n++; require.NoError(t, other.StoreSubchunk(t.Context(), at(3), u16(n))) }
	st.times.Store(3)
	require.NoError(t, a.StoreSubchunk(t.Context(), at(0), u16(7)))
	got, err := a.RetrieveRegion(t.Context(), at(0), at(4), zarr.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, u16(7, 0, 0, 103), got, "neither writer's work is lost")
	st.times.Store(1 << 20)
	require.ErrorIs(t, a.StoreSubchunk(t.Context(), at(0), u16(8)), fault.ErrStale)
}

func TestStringsRoundTrip(t *testing.T) {
	word := func(ss ...string) []byte {
		var b []byte
		for _, s := range ss {
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
		}
		return b
	}
	for _, sub := range [][]int64{nil, at(2)} {
		for _, dtype := range []string{"string", "variable_length_bytes"} {
			st := storage.NewMemory()
			a, err := zarr.CreateArray(t.Context(), st, "", zarr.ArraySpec{Shape: at(6), ChunkShape: at(4), SubchunkShape: sub, DataType: dtype}, zarr.Options{})
			require.NoError(t, err)
			require.NoError(t, a.StoreRegion(t.Context(), at(1), at(4), word("a", "ünï", "")))
			require.NoError(t, a.StoreRegion(t.Context(), at(3), at(5), word("long enough", "x")))
			got, err := a.RetrieveRegion(t.Context(), at(0), at(6), zarr.ReadOptions{})
			require.NoError(t, err)
			require.Equal(t, word("", "a", "ünï", "long enough", "x", ""), got)
			got, err = a.RetrieveRegion(t.Context(), at(2), at(3), zarr.ReadOptions{Dst: make([]byte, 100)})
			require.NoError(t, err)
			require.Equal(t, word("ünï"), got)
			require.ErrorIs(t, a.StoreRegion(t.Context(), at(0), at(2), word("only one")), fault.ErrInvalid)
			require.ErrorIs(t, a.StoreRegion(t.Context(), at(0), at(1), word("one", "two")), fault.ErrInvalid)
			require.ErrorIs(t, a.StoreRegion(t.Context(), at(0), at(1), []byte{9, 0, 0, 0}), fault.ErrInvalid)
			if dtype == "string" {
				require.ErrorIs(t, a.StoreRegion(t.Context(), at(0), at(1), word("\xff")), fault.ErrInvalid)
			}
		}
	}
}

// Chunks of strings that are changed side by side do not share what they read.
func TestStringsOfManyChunksAtOnce(t *testing.T) {
	word := func(i int) []byte {
		s := fmt.Sprint("w", i)
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(s))), s...)
	}
	for _, sub := range [][]int64{nil, at(1, 2)} {
		spec := zarr.ArraySpec{Shape: at(64, 8), ChunkShape: at(2, 4), SubchunkShape: sub, DataType: "string"}
		a, err := zarr.CreateArray(t.Context(), storage.NewMemory(), "", spec, zarr.Options{})
		require.NoError(t, err)
		var all, middle, want []byte
		for i := range 64 * 8 {
			all = append(all, word(i)...)
			if x := i % 8; x == 0 || x == 7 {
				want = append(want, word(i)...)
				continue
			}
			middle = append(middle, word(7*i)...)
			want = append(want, word(7*i)...)
		}
		require.NoError(t, a.StoreRegion(t.Context(), at(0, 0), at(64, 8), all))
		require.NoError(t, a.StoreRegion(t.Context(), at(0, 1), at(64, 7), middle), "it cuts through each chunk")
		got, err := a.RetrieveRegion(t.Context(), at(0, 0), at(64, 8), zarr.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestEveryTypeRoundTrips(t *testing.T) {
	for dtype, size := range map[string]int{
		"bool": 1, "int8": 1, "uint64": 8, "float16": 2, "complex128": 16, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e8m0fnu": 1, "int4": 1, "r24": 3,
		`{"name":"raw_bytes","configuration":{"length_bytes":5}}`:                                                              5,
		`{"name":"null_terminated_bytes","configuration":{"length_bytes":5}}`:                                                  5,
		`{"name":"fixed_length_utf32","configuration":{"length_bytes":8}}`:                                                     8,
		`{"name":"numpy.datetime64","configuration":{"unit":"ns","scale_factor":1}}`:                                           8,
		`{"name":"struct","configuration":{"fields":[{"name":"x","data_type":"float32"},{"name":"id","data_type":"uint16"}]}}`: 6,
	} {
		for _, serial := range []zarr.Codec{bytesLE, bytesBE} {
			st := storage.NewMemory()
			a, err := zarr.CreateArray(t.Context(), st, "", zarr.ArraySpec{Shape: at(5), ChunkShape: at(4), SubchunkShape: at(2), DataType: dtype, Codecs: []zarr.Codec{serial}}, zarr.Options{})
			require.NoError(t, err, dtype)
			data := make([]byte, 5*size)
			for i := range data {
				data[i] = byte(i % 2)
			}
			require.NoError(t, a.StoreRegion(t.Context(), at(0), at(5), data))
			got, err := a.RetrieveRegion(t.Context(), at(0), at(5), zarr.ReadOptions{})
			require.NoError(t, err)
			require.Equal(t, data, got, dtype)
		}
	}
}

func TestPackbitsRoundTrips(t *testing.T) {
	for _, c := range []struct {
		dtype, config string
		data          []byte
	}{
		{"bool", `{}`, []byte{1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1}},
		{"bool", `{"padding_encoding":"first_byte"}`, []byte{1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1}},
		{"int4", `{"padding_encoding":"last_byte"}`, []byte{0xff, 1, 7, 0xf8, 0, 2, 3}},
		{"uint2", `{}`, []byte{3, 1, 0, 2, 3}},
		{"uint16", `{"first_bit":2,"last_bit":9}`, u16(4, 1020, 512)},
		{"int16", `{}`, u16(65535, 1, 32768)},
	} {
		st := storage.NewMemory()
		size := int64(1)
		if c.dtype == "uint16" || c.dtype == "int16" {
			size = 2
		}
		n := int64(len(c.data)) / size
		a, err := zarr.CreateArray(t.Context(), st, "", zarr.ArraySpec{Shape: at(n), ChunkShape: at(n), DataType: c.dtype, Codecs: []zarr.Codec{config("packbits", c.config)}}, zarr.Options{})
		require.NoError(t, err)
		require.NoError(t, a.StoreChunk(t.Context(), at(0), c.data))
		got, err := a.RetrieveChunk(t.Context(), at(0), zarr.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, c.data, got, "%s %s", c.dtype, c.config)
	}
}

func TestNodesAreCreatedOnce(t *testing.T) {
	st := storage.NewMemory()
	_, err := zarr.CreateGroup(t.Context(), st, "", json.RawMessage(`{"a":1}`), zarr.Options{})
	require.NoError(t, err)
	_, err = zarr.CreateGroup(t.Context(), st, "", nil, zarr.Options{})
	require.ErrorIs(t, err, fault.ErrExists)
	spec := zarr.ArraySpec{Shape: at(4), ChunkShape: at(4), DataType: "uint16", DimensionNames: []string{"x"}}
	a, err := zarr.CreateArray(t.Context(), st, "one", spec, zarr.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"x"}, a.DimensionNames())
	_, err = zarr.CreateArray(t.Context(), st, "one", spec, zarr.Options{})
	require.ErrorIs(t, err, fault.ErrExists)
	spec.Overwrite = true
	_, err = zarr.CreateArray(t.Context(), st, "one", spec, zarr.Options{})
	require.NoError(t, err)
	for what, bad := range map[string]zarr.ArraySpec{
		"no type":      {Shape: at(4), ChunkShape: at(4)},
		"zero chunk":   {Shape: at(4), ChunkShape: at(0), DataType: "int8"},
		"axes":         {Shape: at(4, 4), ChunkShape: at(4), DataType: "int8"},
		"not dividing": {Shape: at(4), ChunkShape: at(4), SubchunkShape: at(3), DataType: "int8"},
		"fill":         {Shape: at(4), ChunkShape: at(4), DataType: "int8", FillValue: json.RawMessage("300")},
		"attributes":   {Shape: at(4), ChunkShape: at(4), DataType: "int8", Attributes: json.RawMessage("[")},
	} {
		_, err := zarr.CreateArray(t.Context(), st, "bad", bad, zarr.Options{})
		require.ErrorIs(t, err, fault.ErrInvalid, what)
	}
	require.NoError(t, zarr.SetAttributes(t.Context(), st, "one", json.RawMessage(`{"k":[1,2]}`)))
	require.NoError(t, zarr.Resize(t.Context(), st, "one", at(9), zarr.Options{}))
	require.ErrorIs(t, zarr.Resize(t.Context(), st, "one", at(9, 1), zarr.Options{}), fault.ErrInvalid)
	a, err = zarr.OpenArray(t.Context(), st, "one", zarr.Options{})
	require.NoError(t, err)
	require.Equal(t, at(9), a.Shape())
	require.JSONEq(t, `{"k":[1,2]}`, string(a.Attributes()))

	require.NoError(t, zarr.Consolidate(t.Context(), st, "", zarr.Options{}))
	trusting := zarr.Options{Consolidated: true}
	es, err := zarr.List(t.Context(), readOnly{st}, "", trusting)
	require.NoError(t, err, "a store that cannot list")
	require.Equal(t, []zarr.Entry{{Path: "one", Kind: "array", Shape: at(9), DataType: "uint16"}}, es)
	_, err = zarr.List(t.Context(), readOnly{st}, "", zarr.Options{})
	require.ErrorIs(t, err, fault.ErrUnsupported)
	st.Remove("one/zarr.json")
	g, err := zarr.OpenGroup(t.Context(), st, "", trusting)
	require.NoError(t, err)
	n, err := g.Open(t.Context(), "one")
	require.NoError(t, err, "from the consolidated metadata alone")
	require.Equal(t, "one", n.Path())
}
