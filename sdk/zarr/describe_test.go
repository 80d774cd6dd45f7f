package zarr_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/cache"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

func describe(t *testing.T, st storage.Store) zarr.ArrayDescription {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), st, "", zarr.Options{})
	require.NoError(t, err)
	text, err := json.Marshal(a.Describe())
	require.NoError(t, err)
	var d zarr.ArrayDescription
	require.NoError(t, json.Unmarshal(text, &d))
	return d
}

// TestDescribeType: hosts learn lengths, units and fields from data_type_json,
// whatever the metadata is like.
func TestDescribeType(t *testing.T) {
	dir, _ := goldenNodes(t)
	const fields = `{"name":"struct","configuration":{"fields":[{"name":"x","data_type":"float32"},{"name":"id","data_type":"uint16"}]}}`
	const nanoseconds = `{"name":"numpy.datetime64","configuration":{"unit":"ns","scale_factor":1}}`
	for name, want := range map[string]string{
		"dtype_uint8":            `"uint8"`,
		"dtype_string":           `"string"`,
		"dtype_r24":              `"r24"`,
		"dtype_ntbytes":          `{"name":"null_terminated_bytes","configuration":{"length_bytes":5}}`,
		"v2_S5":                  `{"name":"null_terminated_bytes","configuration":{"length_bytes":5}}`,
		"v2_U5":                  `{"name":"fixed_length_utf32","configuration":{"length_bytes":20}}`,
		"dtype_datetime64_ns":    nanoseconds,
		"v2_M8":                  nanoseconds,
		"dtype_struct":           fields,
		"wild_structured_legacy": fields,
		"v2_struct":              fields,
	} {
		require.JSONEq(t, want, string(describe(t, loadDir(t, filepath.Join(dir, name))).DataTypeJSON), name)
	}
	st := storage.NewMemory()
	st.Set("zarr.json", []byte(`{"zarr_format":3,"node_type":"array","shape":[1],"data_type":{"name":"struct","configuration":
		{"fields":[{"name":"\u0001","data_type":"int8"}]}},"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}},
		"chunk_key_encoding":{"name":"default"},"fill_value":{"\u0001":0},"codecs":["bytes"]}`))
	require.Contains(t, string(describe(t, st).DataTypeJSON), `"\u0001"`)
}

// TestDescribeUnequalChunks: no host finds the shard of a subchunk by a
// division where shards differ.
func TestDescribeUnequalChunks(t *testing.T) {
	dir, _ := goldenNodes(t)
	d := describe(t, loadDir(t, filepath.Join(dir, "grid_rectilinear")))
	require.Equal(t, [][][2]int64{{{4, 1}, {2, 1}, {4, 1}}, {{3, 2}, {1, 1}}}, d.ChunkEdges)
	require.Nil(t, d.ChunkShape)
	require.Nil(t, d.EffectiveSubchunkShape)

	d = describe(t, loadDir(t, filepath.Join(dir, "grid_rectilinear_sharded")))
	require.Equal(t, [][][2]int64{{{4, 1}, {2, 1}, {4, 1}}, {{4, 2}}}, d.ChunkEdges)
	require.Equal(t, []int64{2, 2}, d.EffectiveSubchunkShape)
	require.Nil(t, d.ChunksPerShard)
	require.False(t, d.HostReadable)

	d = describe(t, loadDir(t, filepath.Join(dir, "ndim2_zarrs")))
	require.Nil(t, d.ChunkEdges)
	require.True(t, d.HostReadable)
}

// TestWriteJSON: what writes itself without reflection writes what its tags say.
func TestWriteJSON(t *testing.T) {
	same := func(v rawjson.Value) {
		t.Helper()
		want, err := json.Marshal(v)
		require.NoError(t, err)
		require.Equal(t, string(want), string(rawjson.Marshal(v)))
	}
	dir, nodes := goldenNodes(t)
	for _, node := range nodes {
		n, err := zarr.Open(t.Context(), loadDir(t, filepath.Join(dir, node.Path)), "", zarr.Options{})
		require.NoError(t, err, node.Name)
		same(n.Describe())
	}
	name, some := "<é>", []int64{1, -2}
	same(zarr.ArrayDescription{})
	same(zarr.ArrayDescription{
		Kind: "array", Path: "a/\"b", ZarrFormat: 3, Shape: []int64{}, ChunkShape: some, ChunkEdges: [][][2]int64{{}, {{1, 2}, {3, 4}}}, ChunkGridShape: some,
		DataType: "x", DataTypeJSON: json.RawMessage(` "<x>" `), ItemSize: 8, FillValue: json.RawMessage("[ 1 ]"), FillHex: "00ff", IsSharded: true,
		ExclusivelySharded: true, OrderTransposed: true, SubchunkShape: some, EffectiveSubchunkShape: some, SubchunkGridShape: some, ChunksPerShard: some,
		IndexLocation: "end", IndexSize: 1 << 62, Codecs: json.RawMessage("[]"), SubchunkCodecs: json.RawMessage("[{}]"), HostReadable: true,
		Attributes: json.RawMessage(`{"a": "\u2028  "}`), DimensionNames: []*string{nil, &name},
	})
	same(zarr.GroupDescription{})
	same(zarr.GroupDescription{Kind: "group", Attributes: json.RawMessage("{}"), Multiscales: []zarr.Multiscale{
		{Name: "n", Version: "0.5", Axes: []zarr.Axis{{}, {Name: "x", Type: "space", Unit: "µm"}}, Levels: []zarr.Level{{}, {Path: "0", Scale: []float64{1e-7, 2}, Translation: []float64{0, 1e21}}}}}})
	same(zarr.Entry{})
	same(zarr.Entry{Path: "p", Kind: "array", Shape: some, DataType: "int8", Error: "e\n"})
	same(zarr.Damage{Item: "c/0", Off: -1, Text: "&"})
	same(cache.Stats{Hits: 1, Misses: 2, Loads: 3, Entries: 4, Bytes: 5, Budget: 6})
	same(fault.Detail{})
	d := fault.Detail{Code: fault.CodeStale, Format: "zarr", Item: "k", Off: 7, Text: "t"}
	same(d)
	again, ok := fault.ParseDetail(rawjson.Marshal(d))
	require.True(t, ok)
	require.Equal(t, d, again)
	_, ok = fault.ParseDetail([]byte(`{"code":1}`))
	require.False(t, ok)
}
