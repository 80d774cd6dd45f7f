package zarr

import (
	"encoding/json"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// metadataKey is the name of a node's metadata below the node.
const metadataKey = "zarr.json"

// metadata is a zarr.json, checked. Zarr core v3, "Metadata".
type metadata struct {
	format     int    // 3 or 2
	raw        []byte // as stored
	node       string // "array" or "group"
	attributes json.RawMessage

	consolidated fields // of a group: the metadata of its descendants, as v3 has it; nil if there is none

	// of arrays
	shape     []int64
	dtype     DataType
	grid      grid
	keys      keyEncoding
	elem      element
	fill      []byte // of one element, as FillValue gives it
	fillText  json.RawMessage
	codecs    *chain
	codecText json.RawMessage
	names     []string // nil, or one an axis; "" for null
}

var (
	commonFields = []string{"zarr_format", "node_type", "attributes"}
	groupFields  = []string{"consolidated_metadata"}
	arrayFields  = []string{"shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs", "dimension_names", "storage_transformers"}
)

func parseMetadata(raw []byte, o Options) (*metadata, error) {
	f, err := parseObject(raw)
	if err != nil {
		return nil, err
	}
	format, err := integer("zarr_format", f["zarr_format"])
	if err != nil {
		return nil, err
	}
	if format != 3 {
		return nil, fault.New(fault.ErrUnsupported, "metadata", "zarr_format", "is "+itoa(format)+", want 3")
	}
	m := &metadata{format: 3, raw: raw, attributes: json.RawMessage("{}")}
	if m.node, err = text("node_type", f["node_type"]); err != nil {
		return nil, err
	}
	if a, ok := f["attributes"]; ok {
		if _, err := object("attributes", a); err != nil {
			return nil, err
		}
		m.attributes = compact(a)
	}
	switch m.node {
	case "group":
		if err := f.known(commonFields, groupFields); err != nil {
			return nil, err
		}
		return m, m.parseConsolidated(f["consolidated_metadata"])
	case "array":
		if err := f.known(commonFields, arrayFields); err != nil {
			return nil, err
		}
		return m, m.parseArray(f, o)
	}
	return nil, malformed("node_type", strconv.Quote(m.node)+` is neither "array" nor "group"`)
}

// known refuses members that are in none of the sets, unless they say that
// they need not be understood.
func (f fields) known(sets ...[]string) error {
	known := map[string]bool{}
	for _, s := range sets {
		for _, k := range s {
			known[k] = true
		}
	}
	unknown, found := "", false
	for k, v := range f {
		if known[k] || found && k > unknown { // the same field is named each time
			continue
		}
		if ext, err := rawjson.Object(v); err == nil && string(ext["must_understand"]) == "false" {
			continue
		}
		unknown, found = k, true
	}
	if found {
		return fault.New(fault.ErrUnsupported, "metadata", strconv.Quote(unknown), "unknown field that must be understood")
	}
	return nil
}

func (m *metadata) parseArray(f fields, o Options) error {
	for _, k := range arrayFields[:6] {
		if _, ok := f[k]; !ok {
			return malformed(k, "missing")
		}
	}
	var err error
	if m.shape, err = sizes("shape", f["shape"], 0); err != nil {
		return err
	}
	if err := checkAxes(m.shape); err != nil {
		return err
	}
	if m.dtype, err = parseDataType(f["data_type"]); err != nil {
		return err
	}
	if m.grid, err = parseGrid(f["chunk_grid"], m.shape); err != nil {
		return err
	}
	if m.keys, err = parseKeyEncoding(f["chunk_key_encoding"]); err != nil {
		return err
	}
	m.fillText = compact(f["fill_value"])
	if m.elem, m.fill, err = parseElement(m.dtype, f["fill_value"]); err != nil {
		return err
	}
	if err := m.checkSize(); err != nil {
		return err
	}
	if err := m.parseNames(f["dimension_names"]); err != nil {
		return err
	}
	if t := f["storage_transformers"]; t != nil {
		if l, err := list("storage_transformers", t); err != nil {
			return err
		} else if len(l) > 0 {
			return fault.New(fault.ErrUnsupported, "metadata", "storage_transformers", "none is known, got "+brief(t))
		}
	}
	m.codecText = compact(f["codecs"])
	if m.codecs, err = parseChain("codecs", f["codecs"], m.elem, m.grid.largest(), o); err != nil {
		return err
	}
	return m.checkEdges()
}

// checkSize refuses an array whose bytes cannot be counted.
func (m *metadata) checkSize() error {
	if _, ok := product(append([]int64{m.elem.size}, m.shape...)...); !ok {
		return fault.New(fault.ErrLimit, "metadata", "shape", "the array has more than 2^63 bytes")
	}
	return nil
}

// checkEdges refuses a subchunk that does not divide each of the shards.
func (m *metadata) checkEdges() error {
	s := m.codecs.sharding()
	if s == nil {
		return nil
	}
	sub := permute(s.sub, invert(m.codecs.order))
	for axis, n := range sub {
		for _, edge := range m.grid.edges(axis) {
			if edge%n != 0 {
				return malformed("chunk_grid", "the subchunk "+tuple(s.sub)+" does not divide a shard's edge of "+itoa(edge))
			}
		}
	}
	return nil
}

// maxAxes bounds the number of axes: numpy's bound, and more than any file
// in the wild has.
const maxAxes = 64

func checkAxes(shape []int64) error {
	if len(shape) > maxAxes {
		return fault.New(fault.ErrLimit, "metadata", "shape", itoa(int64(len(shape)))+" axes, at most "+itoa(int64(maxAxes))+" are read")
	}
	return nil
}

func (m *metadata) parseNames(raw json.RawMessage) error {
	if isNull(raw) {
		return nil
	}
	l, err := list("dimension_names", raw)
	if err != nil {
		return err
	}
	if len(l) != len(m.shape) {
		return malformed("dimension_names", "has "+itoa(int64(len(l)))+" names for "+itoa(int64(len(m.shape)))+" axes")
	}
	m.names = make([]string, len(l))
	for i, r := range l {
		if isNull(r) {
			continue
		}
		if m.names[i], err = text("dimension_names", r); err != nil {
			return err
		}
	}
	return nil
}
