package zarr

import (
	"encoding/json"

	"github.com/gridhold/gridhold/sdk/rawjson"
)

// complexType is complex64 and complex128: the real part, then the imaginary.
type complexType struct {
	name string
	part floatType
}

func findComplex(name string) DataType {
	switch name {
	case "complex64":
		return complexType{name, floats["float32"]}
	case "complex128":
		return complexType{name, floats["float64"]}
	}
	return nil
}

func (t complexType) Name() string  { return t.name }
func (t complexType) Size() int64   { return 2 * t.part.Size() }
func (t complexType) Swap(b []byte) { t.part.Swap(b) }

// ParseFill reads [re, im], each as a float's fill value.
func (t complexType) ParseFill(raw json.RawMessage) ([]byte, error) {
	parts, err := rawjson.List(raw)
	if err != nil || len(parts) != 2 {
		return nil, badFill(raw, t.name)
	}
	var out []byte
	for _, p := range parts {
		b, err := t.part.ParseFill(p)
		if err != nil {
			return nil, badFill(raw, t.name)
		}
		out = append(out, b...)
	}
	return out, nil
}
