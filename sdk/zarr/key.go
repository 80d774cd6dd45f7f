package zarr

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
)

// keyEncoding makes the key of a chunk from its place in the grid.
type keyEncoding struct {
	Name      string `json:"name"` // "default" or "v2"
	Separator string `json:"separator"`
}

func parseKeyEncoding(raw json.RawMessage) (keyEncoding, error) {
	const field = "chunk_key_encoding"
	e, err := parseExtension(field, raw)
	if err != nil {
		return keyEncoding{}, err
	}
	k := keyEncoding{Name: e.name, Separator: "/"}
	switch e.name {
	case "default":
	case "v2":
		k.Separator = "."
	default:
		return k, fault.New(fault.ErrUnsupported, "metadata", field, "unknown encoding "+strconv.Quote(e.name))
	}
	if err := e.only(field, "separator"); err != nil {
		return k, err
	}
	if s, ok := e.config["separator"]; ok {
		k.Separator, err = separator(field+".separator", s)
	}
	return k, err
}

func separator(field string, raw json.RawMessage) (string, error) {
	s, err := text(field, raw)
	if err == nil && s != "/" && s != "." {
		err = malformed(field, strconv.Quote(s)+` is neither "/" nor "."`)
	}
	return s, err
}

// key is the key of chunk idx below prefix.
func (k keyEncoding) key(prefix string, idx []int64) string {
	b := make([]byte, 0, len(prefix)+1+8*len(idx))
	b = append(b, prefix...)
	if k.Name == "default" {
		b = append(b, 'c')
	} else if len(idx) == 0 {
		b = append(b, '0')
	}
	for i, x := range idx {
		if i > 0 || k.Name == "default" {
			b = append(b, k.Separator...)
		}
		b = strconv.AppendInt(b, x, 10)
	}
	return string(b)
}

// checkPath refuses what is not the path of a node: names joined by "/",
// the root being "". Zarr core v3, "Node names".
func checkPath(path string) error {
	if path == "" {
		return nil
	}
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || strings.Trim(name, ".") == "" || strings.HasPrefix(name, "__") || name == metadataKey {
			return fault.New(fault.ErrInvalid, "zarr", strconv.Quote(path), "not the path of a node")
		}
	}
	return nil
}

// prefixOf is what the keys of a node begin with.
func prefixOf(path string) string {
	if path == "" {
		return ""
	}
	return path + "/"
}
