package zarr

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// DataType is the type of an array's elements. The elements of most types
// have a fixed size: that many bytes each, little endian. Those of the others
// (strings, byte strings) are given as their length, a little-endian uint32,
// and their bytes.
type DataType interface {
	// Name is the type's name in metadata.
	Name() string
	// Size is the number of bytes of an element, 0 if it varies.
	Size() int64
	// ParseFill returns the bytes of one element (without a length) from a
	// fill value as metadata writes it: ErrCorrupt if it is of the wrong kind
	// or out of range.
	ParseFill(raw json.RawMessage) ([]byte, error)
	// Swap reverses the byte order of every number in b, in place. It does
	// nothing for types of one byte.
	Swap(b []byte)
}

// parseDataType finds the type that metadata names.
func parseDataType(raw json.RawMessage) (DataType, error) { return dataTypeAt("data_type", raw, 0) }

func dataTypeAt(field string, raw json.RawMessage, depth int) (DataType, error) {
	e, err := parseExtension(field, raw)
	if err != nil {
		return nil, err
	}
	for _, find := range []func(string, extension) (DataType, error){findNumber, findTiny, findBytes, findTime, findVariable} {
		if t, err := find(field, e); t != nil || err != nil {
			return t, err
		}
	}
	if e.name == "struct" || e.name == "structured" {
		return parseStruct(field, e, depth)
	}
	return nil, fault.New(fault.ErrUnsupported, "metadata", field, "unknown type "+strconv.Quote(e.name))
}

// findNumber finds the types that every Zarr library knows.
func findNumber(field string, e extension) (DataType, error) {
	for _, find := range []func(string) DataType{findBool, findInteger, findFloat, findComplex} {
		if t := find(e.name); t != nil {
			return t, e.only(field)
		}
	}
	return nil, nil
}

func badFill(raw json.RawMessage, name string) error {
	return malformed("fill_value", brief(raw)+" is not a value of "+name)
}

// fillBits reads the bits of a fill value that metadata spells in
// hexadecimal, most significant digit first, exactly size bytes of them, at most 8. It
// returns nil for a text of another form.
func fillBits(s string, size int) []byte {
	if len(s) != 2+2*size || s[:2] != "0x" {
		return nil
	}
	bits, err := strconv.ParseUint(s[2:], 16, 64)
	if err != nil {
		return nil
	}
	return binary.LittleEndian.AppendUint64(nil, bits)[:size]
}

// fillBase64 reads bytes that metadata spells in base64.
func fillBase64(raw json.RawMessage) ([]byte, bool) {
	s, err := rawjson.String(raw)
	if err != nil {
		return nil, false
	}
	b, err := base64.StdEncoding.DecodeString(s)
	return b, err == nil
}

func reverse(b []byte) {
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
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
			reverse(b[:size])
		}
	}
}
