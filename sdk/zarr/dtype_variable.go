package zarr

import (
	"encoding/json"
	"unicode/utf8"
)

// variableType is string (UTF-8) and variable_length_bytes, whose registered
// name is bytes.
type variableType struct {
	name string
	utf8 bool
}

func findVariable(field string, e extension) (DataType, error) {
	switch e.name {
	case "string":
		return variableType{e.name, true}, e.only(field)
	case "variable_length_bytes", "bytes":
		return variableType{e.name, false}, e.only(field)
	}
	return nil, nil
}

func (t variableType) Name() string { return t.name }
func (t variableType) Size() int64  { return 0 }
func (t variableType) Swap([]byte)  {}

func (t variableType) ParseFill(raw json.RawMessage) ([]byte, error) {
	if t.utf8 {
		s, err := text("fill_value", raw)
		if err != nil {
			return nil, badFill(raw, t.name)
		}
		return []byte(s), nil
	}
	b, ok := fillBase64(raw)
	if !ok {
		b, ok = byteList(raw)
	}
	if !ok {
		return nil, badFill(raw, t.name)
	}
	return b, nil
}

// check reports whether b can be an element.
func (t variableType) check(b []byte) bool { return !t.utf8 || utf8.Valid(b) }
