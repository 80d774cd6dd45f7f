package zarr

import (
	"encoding/hex"
	"encoding/json"

	"github.com/gridhold/gridhold/sdk/rawjson"
)

// ArrayDescription is what "gridhold info --json" prints of an array, and
// all that a host needs to know of it. The tags are for who reads it; WriteJSON
// is the same without reflection, which the guest does without.
type ArrayDescription struct {
	Kind       string `json:"kind"`
	Path       string `json:"path"`
	ZarrFormat int    `json:"zarr_format"`

	Shape          []int64         `json:"shape"`
	ChunkShape     []int64         `json:"chunk_shape"`           // null where chunks differ
	ChunkEdges     [][][2]int64    `json:"chunk_edges,omitempty"` // where they do: per axis [length, count] of neighbours that are alike
	ChunkGridShape []int64         `json:"chunk_grid_shape"`
	DataType       string          `json:"data_type"`      // its name
	DataTypeJSON   json.RawMessage `json:"data_type_json"` // as v3 metadata has it: the name, or an object with lengths, units, fields
	ItemSize       int64           `json:"item_size"`
	FillValue      json.RawMessage `json:"fill_value"`
	FillHex        string          `json:"fill_hex"` // bytes of one element

	IsSharded              bool    `json:"is_sharded"`
	ExclusivelySharded     bool    `json:"exclusively_sharded"`
	OrderTransposed        bool    `json:"order_transposed"`         // a transposition lies around the shards
	SubchunkShape          []int64 `json:"subchunk_shape"`           // null if not sharded
	EffectiveSubchunkShape []int64 `json:"effective_subchunk_shape"` // null if not sharded and chunks differ
	SubchunkGridShape      []int64 `json:"subchunk_grid_shape"`
	ChunksPerShard         []int64 `json:"chunks_per_shard,omitempty"` // stored axes; absent where shards differ
	IndexLocation          string  `json:"index_location,omitempty"`
	IndexSize              int64   `json:"index_size,omitempty"` // bytes as stored; absent where shards differ

	Codecs         json.RawMessage `json:"codecs"`
	SubchunkCodecs json.RawMessage `json:"subchunk_codecs"` // those that one subchunk is decoded with
	HostReadable   bool            `json:"host_readable"`   // the shard table and subchunk_codecs are all that a read needs

	ChunkKeyEncoding keyEncoding     `json:"chunk_key_encoding"`
	Attributes       json.RawMessage `json:"attributes"`
	DimensionNames   []*string       `json:"dimension_names"` // null if none are named
}

// Describe returns an ArrayDescription.
func (a *Array) Describe() rawjson.Value {
	m := a.meta
	d := ArrayDescription{
		Kind: a.Kind(), Path: a.path, ZarrFormat: m.format,
		Shape: m.shape, ChunkShape: a.ChunkShape(), ChunkGridShape: a.grid,
		DataType: m.dtype.Name(), DataTypeJSON: typeJSON(m.dtype), ItemSize: m.dtype.Size(), FillValue: m.fillText, FillHex: hex.EncodeToString(m.fill),
		IsSharded: a.IsSharded(), ExclusivelySharded: a.IsExclusivelySharded(), OrderTransposed: m.codecs.order != nil && a.shards != nil,
		SubchunkShape: a.SubchunkShape(), EffectiveSubchunkShape: a.subEdge, SubchunkGridShape: a.subGrid,
		Codecs: m.codecText, SubchunkCodecs: m.codecs.text,
		ChunkKeyEncoding: m.keys, Attributes: m.attributes,
	}
	unequal, isUnequal := m.grid.(rectilinear)
	if isUnequal {
		d.ChunkEdges = unequal.runs()
	}
	if s := a.shards; s != nil {
		d.SubchunkCodecs, d.IndexLocation = s.inner.text, "end"
		if s.atStart {
			d.IndexLocation = "start"
		}
		if !isUnequal {
			d.ChunksPerShard, d.IndexSize = s.regular.per, s.regular.indexSize
			d.HostReadable = d.ExclusivelySharded && s.inner.sharding() == nil
		}
	}
	if m.names != nil {
		d.DimensionNames = nullable(m.names)
	}
	return d
}

// WriteJSON implements [rawjson.Value].
func (d ArrayDescription) WriteJSON(w *rawjson.Writer) {
	w.Open('{')
	w.Name("kind").String(d.Kind)
	w.Name("path").String(d.Path)
	w.Name("zarr_format").Int(int64(d.ZarrFormat))
	w.Name("shape").Ints(d.Shape)
	w.Name("chunk_shape").Ints(d.ChunkShape)
	d.writeEdges(w)
	w.Name("chunk_grid_shape").Ints(d.ChunkGridShape)
	w.Name("data_type").String(d.DataType)
	w.Name("data_type_json").Raw(d.DataTypeJSON)
	w.Name("item_size").Int(d.ItemSize)
	w.Name("fill_value").Raw(d.FillValue)
	w.Name("fill_hex").String(d.FillHex)
	w.Name("is_sharded").Bool(d.IsSharded)
	w.Name("exclusively_sharded").Bool(d.ExclusivelySharded)
	w.Name("order_transposed").Bool(d.OrderTransposed)
	w.Name("subchunk_shape").Ints(d.SubchunkShape)
	w.Name("effective_subchunk_shape").Ints(d.EffectiveSubchunkShape)
	w.Name("subchunk_grid_shape").Ints(d.SubchunkGridShape)
	if len(d.ChunksPerShard) > 0 {
		w.Name("chunks_per_shard").Ints(d.ChunksPerShard)
	}
	writeText(w, "index_location", d.IndexLocation)
	if d.IndexSize != 0 {
		w.Name("index_size").Int(d.IndexSize)
	}
	w.Name("codecs").Raw(d.Codecs)
	w.Name("subchunk_codecs").Raw(d.SubchunkCodecs)
	w.Name("host_readable").Bool(d.HostReadable)
	w.Name("chunk_key_encoding").Open('{')
	w.Name("name").String(d.ChunkKeyEncoding.Name)
	w.Name("separator").String(d.ChunkKeyEncoding.Separator)
	w.Close('}')
	w.Name("attributes").Raw(d.Attributes)
	d.writeNames(w.Name("dimension_names"))
	w.Close('}')
}

func (d ArrayDescription) writeEdges(w *rawjson.Writer) {
	if len(d.ChunkEdges) == 0 {
		return
	}
	w.Name("chunk_edges").Open('[')
	for _, axis := range d.ChunkEdges {
		w.Open('[')
		for _, run := range axis {
			w.Ints(run[:])
		}
		w.Close(']')
	}
	w.Close(']')
}

func (d ArrayDescription) writeNames(w *rawjson.Writer) {
	if d.DimensionNames == nil {
		w.Null()
		return
	}
	w.Open('[')
	for _, name := range d.DimensionNames {
		if name == nil {
			w.Null()
		} else {
			w.String(*name)
		}
	}
	w.Close(']')
}

// writeText writes a member that is absent where it is "".
func writeText(w *rawjson.Writer, name, value string) {
	if value != "" {
		w.Name(name).String(value)
	}
}

// GroupDescription is what "gridhold info --json" prints of a group.
type GroupDescription struct {
	Kind       string          `json:"kind"`
	Path       string          `json:"path"`
	ZarrFormat int             `json:"zarr_format"`
	Attributes json.RawMessage `json:"attributes"`

	// Multiscales are the pyramids of an OME-Zarr group; absent if it has
	// none, or none that can be understood.
	Multiscales []Multiscale `json:"multiscales,omitempty"`
}

// Describe returns a GroupDescription.
func (g *Group) Describe() rawjson.Value {
	d := GroupDescription{Kind: g.Kind(), Path: g.path, ZarrFormat: g.meta.format, Attributes: g.meta.attributes}
	d.Multiscales, _ = g.Multiscales()
	return d
}

// WriteJSON implements [rawjson.Value].
func (d GroupDescription) WriteJSON(w *rawjson.Writer) {
	w.Open('{')
	w.Name("kind").String(d.Kind)
	w.Name("path").String(d.Path)
	w.Name("zarr_format").Int(int64(d.ZarrFormat))
	w.Name("attributes").Raw(d.Attributes)
	if len(d.Multiscales) > 0 {
		w.Name("multiscales").Open('[')
		for _, m := range d.Multiscales {
			m.WriteJSON(w)
		}
		w.Close(']')
	}
	w.Close('}')
}
