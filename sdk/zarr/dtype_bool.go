package zarr

import "encoding/json"

// boolean is "bool": one byte, 0 or 1.
type boolean struct{}

func findBool(name string) DataType {
	if name == "bool" {
		return boolean{}
	}
	return nil
}

func (boolean) Name() string { return "bool" }
func (boolean) Size() int64  { return 1 }
func (boolean) Swap([]byte)  {}

func (boolean) ParseFill(raw json.RawMessage) ([]byte, error) {
	switch string(raw) {
	case "true":
		return []byte{1}, nil
	case "false":
		return []byte{0}, nil
	}
	return nil, badFill(raw, "bool")
}
