package zarr

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Codec is a codec as metadata names it.
type Codec struct {
	Name          string          `json:"name"`
	Configuration json.RawMessage `json:"configuration,omitempty"`
}

// ArraySpec describes an array to create. What it writes, zarr-python, zarrs,
// tensorstore and zarrita read, unless the type or a codec is one they lack.
type ArraySpec struct {
	Shape      []int64
	ChunkShape []int64 // of a chunk, which is one object: of a shard, if SubchunkShape is given
	// SubchunkShape divides ChunkShape; nil: the array is not sharded.
	SubchunkShape []int64
	DataType      string          // a name, or the JSON object of a type that has a configuration
	FillValue     json.RawMessage // as metadata writes it; nil: zero, or empty
	// Codecs are those of a chunk, or of a subchunk; nil: little-endian bytes
	// (or the codec that the type needs) and zstd.
	Codecs         []Codec
	IndexCodecs    []Codec // nil: little-endian bytes and crc32c
	IndexAtStart   bool
	DimensionNames []string // nil, or a name an axis; "": none
	Attributes     json.RawMessage
	Separator      string // of chunk keys; "": "/"
	Overwrite      bool   // replace the metadata of a node that is there; its chunks stay
}

var (
	bytesLE   = Codec{"bytes", json.RawMessage(`{"endian":"little"}`)}
	zstdCodec = Codec{"zstd", json.RawMessage(`{"level":3,"checksum":false}`)}
)

// CreateArray writes the metadata of a new array and opens it. Errors:
// ErrExists if there is a node already (unless spec.Overwrite), ErrInvalid if
// the spec contradicts the specification, ErrUnsupported for codecs and types
// not done here, ErrReadOnly if the store cannot write.
func CreateArray(ctx context.Context, st storage.Store, path string, spec ArraySpec, o Options) (*Array, error) {
	raw, err := spec.metadata()
	if err != nil {
		return nil, err
	}
	m, err := parseMetadata(raw, o)
	if err != nil {
		return nil, fault.New(fault.ErrInvalid, "zarr", "/"+path, err.Error())
	}
	if err := putMetadata(ctx, st, path, raw, spec.Overwrite); err != nil {
		return nil, err
	}
	return newArray(st, path, m, o), nil
}

// CreateGroup writes the metadata of a new group and opens it. attributes is
// a JSON object, or nil. Errors are those of CreateArray.
func CreateGroup(ctx context.Context, st storage.Store, path string, attributes json.RawMessage, o Options) (*Group, error) {
	if attributes == nil {
		attributes = json.RawMessage("{}")
	}
	raw, err := json.MarshalIndent(map[string]any{"zarr_format": 3, "node_type": "group", "attributes": attributes}, "", "  ")
	if err != nil {
		return nil, fault.New(fault.ErrInvalid, "zarr", "attributes", err.Error())
	}
	m, err := parseMetadata(raw, o)
	if err != nil {
		return nil, fault.New(fault.ErrInvalid, "zarr", "/"+path, err.Error())
	}
	if err := putMetadata(ctx, st, path, raw, false); err != nil {
		return nil, err
	}
	return &Group{store: st, path: path, meta: m, o: o}, nil
}

func putMetadata(ctx context.Context, st storage.Store, path string, raw []byte, overwrite bool) error {
	if err := checkPath(path); err != nil {
		return err
	}
	w, err := storage.Writer(st)
	if err != nil {
		return err
	}
	_, err = w.Put(ctx, prefixOf(path)+metadataKey, raw, storage.Condition{Absent: !overwrite})
	return err
}

// document is a zarr.json of an array, in the order of the specification.
type document struct {
	ZarrFormat       int             `json:"zarr_format"`
	NodeType         string          `json:"node_type"`
	Shape            []int64         `json:"shape"`
	DataType         json.RawMessage `json:"data_type"`
	ChunkGrid        any             `json:"chunk_grid"`
	ChunkKeyEncoding any             `json:"chunk_key_encoding"`
	FillValue        json.RawMessage `json:"fill_value"`
	Codecs           []Codec         `json:"codecs"`
	Attributes       json.RawMessage `json:"attributes"`
	DimensionNames   []*string       `json:"dimension_names,omitempty"`
}

type named struct {
	Name          string         `json:"name"`
	Configuration map[string]any `json:"configuration"`
}

func (s ArraySpec) metadata() ([]byte, error) {
	d := document{
		ZarrFormat: 3, NodeType: "array", Shape: notNil(s.Shape), DataType: json.RawMessage(s.DataType),
		ChunkGrid:  named{"regular", map[string]any{"chunk_shape": notNil(s.ChunkShape)}},
		Attributes: s.Attributes, FillValue: s.FillValue,
	}
	if !strings.HasPrefix(s.DataType, "{") {
		d.DataType = json.RawMessage(strconv.Quote(s.DataType))
	}
	t, err := parseDataType(d.DataType)
	if err != nil {
		return nil, fault.New(fault.ErrInvalid, "zarr", "data type", err.Error())
	}
	if d.Attributes == nil {
		d.Attributes = json.RawMessage("{}")
	}
	if d.FillValue == nil {
		d.FillValue = zeroFill(t)
	}
	separator := s.Separator
	if separator == "" {
		separator = "/"
	}
	d.ChunkKeyEncoding = named{"default", map[string]any{"separator": separator}}
	d.Codecs, err = s.codecs(t)
	if err != nil {
		return nil, err
	}
	if s.DimensionNames != nil {
		d.DimensionNames = nullable(s.DimensionNames)
	}
	raw, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fault.New(fault.ErrInvalid, "zarr", "metadata", err.Error())
	}
	return raw, nil
}

func (s ArraySpec) codecs(t DataType) ([]Codec, error) {
	own := s.Codecs
	if own == nil {
		own = []Codec{serializerFor(t), zstdCodec}
	}
	if s.SubchunkShape == nil {
		return own, nil
	}
	index := s.IndexCodecs
	if index == nil {
		index = []Codec{bytesLE, {Name: "crc32c"}}
	}
	location := "end"
	if s.IndexAtStart {
		location = "start"
	}
	config, err := json.Marshal(map[string]any{"chunk_shape": s.SubchunkShape, "codecs": own, "index_codecs": index, "index_location": location})
	if err != nil {
		return nil, fault.New(fault.ErrInvalid, "zarr", "codecs", err.Error())
	}
	return []Codec{{"sharding_indexed", config}}, nil
}

// serializerFor is the codec that turns elements of a type into bytes.
func serializerFor(t DataType) Codec {
	if v, ok := t.(variableType); ok {
		if v.utf8 {
			return Codec{Name: "vlen-utf8"}
		}
		return Codec{Name: "vlen-bytes"}
	}
	if !hasOrder(newElement(t, nil)) {
		return Codec{Name: "bytes"}
	}
	return bytesLE
}

func notNil(s []int64) []int64 {
	if s == nil {
		return []int64{}
	}
	return s
}

// nullable turns "" into null.
func nullable(names []string) []*string {
	out := make([]*string, len(names))
	for i := range names {
		if names[i] != "" {
			out[i] = &names[i]
		}
	}
	return out
}

// SetAttributes replaces the user's attributes, a JSON object, of the node at
// a path, and leaves the rest of its metadata as it is written. ErrStale if
// another process replaced the metadata meanwhile each time.
func SetAttributes(ctx context.Context, st storage.Store, path string, attributes json.RawMessage) error {
	if _, err := object("attributes", attributes); err != nil {
		return fault.New(fault.ErrInvalid, "zarr", "attributes", err.Error())
	}
	return rewrite(ctx, st, path, func(f fields) error {
		f["attributes"] = attributes
		return nil
	})
}

// Resize gives the array at a path another shape with as many axes. Chunks
// outside it are left where they are, and a later growth would show them
// again; erase them first if that is not wanted. Open the array again to see
// its new shape.
func Resize(ctx context.Context, st storage.Store, path string, shape []int64, o Options) error {
	return rewrite(ctx, st, path, func(f fields) error {
		old, err := sizes("shape", f["shape"], 0)
		if err != nil {
			return err
		}
		if len(old) != len(shape) {
			return fault.New(fault.ErrInvalid, "zarr", "/"+path, "resize from "+tuple(old)+" to "+tuple(shape))
		}
		if f["shape"], err = json.Marshal(notNil(shape)); err != nil {
			return err
		}
		raw, err := json.Marshal(f)
		if err != nil {
			return err
		}
		if _, err := parseMetadata(raw, o); err != nil {
			return fault.New(fault.ErrInvalid, "zarr", "/"+path, err.Error())
		}
		return nil
	})
}

// rewrite changes a zarr.json, keeping what it does not touch.
func rewrite(ctx context.Context, st storage.Store, path string, change func(fields) error) error {
	w, err := storage.Writer(st)
	if err != nil {
		return err
	}
	if err := checkPath(path); err != nil {
		return err
	}
	key := prefixOf(path) + metadataKey
	for attempt := 1; ; attempt++ {
		raw, info, err := storage.ReadAll(ctx, st, key, maxMetadata)
		if err != nil {
			return err
		}
		f, err := parseObject(raw)
		if err != nil {
			return badMetadata(key, err)
		}
		if err := change(f); err != nil {
			return err
		}
		out, err := json.MarshalIndent(f, "", "  ")
		if err != nil {
			return fault.New(fault.ErrInvalid, "zarr", key, err.Error())
		}
		_, err = w.Put(ctx, key, out, storage.Condition{Version: info.Version})
		if attempt == attempts || !errors.Is(err, fault.ErrStale) {
			return err
		}
	}
}

// Consolidate writes the metadata of all nodes below the group at a path into
// the group's own, so that they can be found where listing is impossible. It
// has to be called again after they change.
func Consolidate(ctx context.Context, st storage.Store, path string, o Options) error {
	o.Consolidated = false
	nodes, err := List(ctx, st, path, o)
	if err != nil {
		return err
	}
	all := map[string]json.RawMessage{}
	for _, e := range nodes {
		raw, _, err := storage.ReadAll(ctx, st, e.Path+"/"+metadataKey, maxMetadata)
		if err != nil {
			return err
		}
		all[strings.TrimPrefix(e.Path, prefixOf(path))] = raw
	}
	text, err := json.Marshal(map[string]any{"kind": "inline", "must_understand": false, "metadata": all})
	if err != nil {
		return fault.New(fault.ErrCorrupt, "zarr", "/"+path, err.Error())
	}
	return rewrite(ctx, st, path, func(f fields) error {
		f["consolidated_metadata"] = text
		return nil
	})
}
