package zarr

import (
	"encoding/json"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// structType is "struct": fields one after the other, without gaps. The older
// name is "structured", its fields being pairs.
type structType struct {
	name   string
	size   int64
	fields []structField
}

type structField struct {
	name  string
	dtype DataType
	off   int64
}

// maxStructDepth bounds structs in structs.
const maxStructDepth = 16

func parseStruct(field string, e extension, depth int) (DataType, error) {
	if depth == maxStructDepth {
		return nil, fault.New(fault.ErrLimit, "metadata", field, "structs are nested too deep")
	}
	if err := e.only(field, "fields"); err != nil {
		return nil, err
	}
	l, err := list(field+".fields", e.config["fields"])
	if err != nil {
		return nil, err
	}
	if len(l) == 0 {
		return nil, malformed(field+".fields", "is empty")
	}
	t := structType{name: e.name}
	seen := map[string]bool{}
	for i, raw := range l {
		at := field + ".fields[" + itoa(int64(i)) + "]"
		name, dtype, err := structMember(at, raw)
		if err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, malformed(at, "a second field "+strconv.Quote(name))
		}
		seen[name] = true
		d, err := dataTypeAt(at+".data_type", dtype, depth+1)
		if err != nil {
			return nil, err
		}
		if err := t.add(at, name, d); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *structType) add(at, name string, d DataType) error {
	if d.Size() == 0 {
		return fault.New(fault.ErrUnsupported, "metadata", at, "a field of variable length")
	}
	t.fields = append(t.fields, structField{name, d, t.size})
	if t.size += d.Size(); t.size > maxElement {
		return fault.New(fault.ErrLimit, "metadata", at, "an element has more than "+itoa(maxElement)+" bytes")
	}
	return nil
}

// structMember reads {"name":…,"data_type":…} or the older [name, type].
func structMember(at string, raw json.RawMessage) (name string, dtype json.RawMessage, err error) {
	if pair, err := list(at, raw); err == nil {
		if len(pair) != 2 {
			return "", nil, malformed(at, "want a name and a type")
		}
		name, err = text(at, pair[0])
		return name, pair[1], err
	}
	f, err := object(at, raw)
	if err != nil {
		return "", nil, err
	}
	name, err = text(at+".name", f["name"])
	return name, f["data_type"], err
}

func (t structType) Name() string { return t.name }
func (t structType) Size() int64  { return t.size }

func (t structType) Swap(b []byte) {
	for ; int64(len(b)) >= t.size; b = b[t.size:] {
		for _, f := range t.fields {
			f.dtype.Swap(b[f.off : f.off+f.dtype.Size()])
		}
	}
}

// ParseFill reads an object by field name, or the packed element in base64.
func (t structType) ParseFill(raw json.RawMessage) ([]byte, error) {
	if b, ok := fillBase64(raw); ok {
		if int64(len(b)) != t.size {
			return nil, badFill(raw, t.name)
		}
		return b, nil
	}
	f, err := object("fill_value", raw)
	if err != nil || len(f) != len(t.fields) {
		return nil, badFill(raw, t.name)
	}
	var out []byte
	for _, field := range t.fields {
		v, ok := f[field.name]
		if !ok {
			return nil, badFill(raw, t.name)
		}
		b, err := field.dtype.ParseFill(v)
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
	}
	return out, nil
}

// zeroFill is the fill value of zeros as metadata writes it: an object by
// field name or, under the older name, base64, each as the readers of that
// name want it.
func (t structType) zeroFill() json.RawMessage {
	if t.name != "struct" {
		return zeroBytes(t.size)
	}
	var w rawjson.Writer
	w.Open('{')
	for _, f := range t.fields {
		w.Name(f.name).Raw(zeroFill(f.dtype))
	}
	w.Close('}')
	return w.Bytes()
}
