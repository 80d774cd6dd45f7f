package zarr

import (
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// DataType is the type of an array's elements. Its Go form is bytes: Size of
// them per element, little endian.
type DataType interface {
	// Name is the type's name in metadata.
	Name() string
	// Size is the number of bytes of an element.
	Size() int64
	// ParseFill returns the bytes of one element from a fill value as
	// metadata writes it: ErrCorrupt if it is of the wrong kind or out of
	// range.
	ParseFill(raw json.RawMessage) ([]byte, error)
	// Swap reverses the byte order of every number in b, in place. It does
	// nothing for types of one byte.
	Swap(b []byte)
}

// parseDataType finds the type that metadata names.
func parseDataType(raw json.RawMessage) (DataType, error) {
	e, err := parseExtension("data_type", raw)
	if err != nil {
		return nil, err
	}
	for _, find := range []func(string) DataType{findBool, findInteger, findFloat, findComplex} {
		if t := find(e.name); t != nil {
			if err := e.only("data_type"); err != nil {
				return nil, err
			}
			return t, nil
		}
	}
	return nil, fault.New(fault.ErrUnsupported, "metadata", "data_type", "unknown type "+strconv.Quote(e.name))
}

func badFill(raw json.RawMessage, name string) error {
	return malformed("fill_value", brief(raw)+" is not a value of "+name)
}

// fillBits reads the bits of a fill value that metadata spells in
// hexadecimal, most significant digit first, exactly size bytes of them. It
// returns nil for a text of another form.
func fillBits(s string, size int) []byte {
	if len(s) != 2+2*size || s[:2] != "0x" {
		return nil
	}
	b, err := hex.DecodeString(s[2:])
	if err != nil {
		return nil
	}
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return b
}

// swapEach reverses each group of size bytes.
func swapEach(b []byte, size int) {
	switch size {
	case 1:
	case 2:
		for i := 0; i+1 < len(b); i += 2 {
			b[i], b[i+1] = b[i+1], b[i]
		}
	default:
		for ; len(b) >= size; b = b[size:] {
			for i, j := 0, size-1; i < j; i, j = i+1, j-1 {
				b[i], b[j] = b[j], b[i]
			}
		}
	}
}
