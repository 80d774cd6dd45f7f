package golden

import (
	"encoding/json"
	"maps"
	"slices"
)

// What Gridhold reads today. Widening the slice is a line here and another
// run of `go run ./internal/golden/cut FROM testdata/zarr`.
var (
	formats   = []int{3}
	dataTypes = []string{
		"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
		"float16", "float32", "float64", "complex64", "complex128",
	}
	codecs = []string{"bytes", "transpose", "gzip", "zstd", "crc32c", "sharding_indexed"}
)

// InSlice reports whether Gridhold reads the node: its format, data type,
// grid and all its codecs, also those inside shards and their indexes. A
// group is in the slice if its children are; child reads the zarr.json of
// one, given its path in the group.
func InSlice(n Node, child func(path string) ([]byte, error)) bool {
	if !slices.Contains(formats, n.ZarrFormat) {
		return false
	}
	if n.NodeType != "group" {
		return n.ChunkShape != nil && readable(n.DataType, n.Codecs)
	}
	for path := range maps.Keys(n.Children) {
		text, err := child(path)
		var meta struct {
			DataType json.RawMessage `json:"data_type"`
			Codecs   json.RawMessage `json:"codecs"`
		}
		if err != nil || json.Unmarshal(text, &meta) != nil || !readable(meta.DataType, meta.Codecs) {
			return false
		}
	}
	return true
}

func readable(dataType, chain json.RawMessage) bool {
	var name string // a type with a configuration is an object, and none of ours
	return json.Unmarshal(dataType, &name) == nil && slices.Contains(dataTypes, name) && known(chain)
}

// known reports whether every codec of a chain, at any depth, is one of codecs.
func known(chain json.RawMessage) bool {
	var list []json.RawMessage
	if json.Unmarshal(chain, &list) != nil {
		return false
	}
	for _, text := range list {
		var c struct {
			Name          string `json:"name"`
			Configuration struct {
				Codecs      json.RawMessage `json:"codecs"`
				IndexCodecs json.RawMessage `json:"index_codecs"`
			} `json:"configuration"`
		}
		if json.Unmarshal(text, &c.Name) != nil && json.Unmarshal(text, &c) != nil { // the short form is a string
			return false
		}
		if !slices.Contains(codecs, c.Name) {
			return false
		}
		for _, inner := range []json.RawMessage{c.Configuration.Codecs, c.Configuration.IndexCodecs} {
			if inner != nil && !known(inner) {
				return false
			}
		}
	}
	return true
}
