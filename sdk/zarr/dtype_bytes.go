package zarr

import (
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxElement bounds the bytes of one element of a fixed size.
const maxElement = 1 << 20

// bytesType is raw bits ("r24"), raw_bytes and null_terminated_bytes: so many
// bytes, whose order nothing changes.
type bytesType struct {
	name string
	size int64
}

// findBytes finds types of a fixed number of bytes, and text of a fixed
// number of code points.
func findBytes(field string, e extension) (DataType, error) {
	switch e.name {
	case "raw_bytes", "null_terminated_bytes", "fixed_length_utf32":
		if err := e.only(field, "length_bytes"); err != nil {
			return nil, err
		}
		n, err := integer(field+".length_bytes", e.config["length_bytes"])
		if err != nil {
			return nil, err
		}
		if n < 0 || n > maxElement {
			return nil, malformed(field+".length_bytes", itoa(n)+" is not in 0.."+itoa(maxElement))
		}
		if e.name != "fixed_length_utf32" {
			return bytesType{e.name, n}, notEmpty(field, n)
		}
		if n%4 != 0 {
			return nil, malformed(field+".length_bytes", itoa(n)+" is not a multiple of 4")
		}
		return utf32Type{n}, notEmpty(field, n)
	}
	if digits, ok := strings.CutPrefix(e.name, "r"); ok && digits != "" && strings.Trim(digits, "0123456789") == "" {
		bits, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || bits == 0 || bits%8 != 0 || bits/8 > maxElement {
			return nil, malformed(field, strconv.Quote(e.name)+" is not a whole number of bytes")
		}
		return bytesType{e.name, bits / 8}, e.only(field)
	}
	return nil, nil
}

func notEmpty(field string, n int64) error {
	if n == 0 {
		return malformed(field, "elements of no bytes")
	}
	return nil
}

func (t bytesType) Name() string { return t.name }
func (t bytesType) Size() int64  { return t.size }
func (t bytesType) Swap([]byte)  {}

// ParseFill reads base64, or a list of byte values. null_terminated_bytes may
// be shorter than the element: the rest is zeros.
func (t bytesType) ParseFill(raw json.RawMessage) ([]byte, error) {
	b, ok := fillBase64(raw)
	if !ok {
		b, ok = byteList(raw)
	}
	if !ok || int64(len(b)) > t.size || int64(len(b)) < t.size && t.name != "null_terminated_bytes" {
		return nil, badFill(raw, t.name)
	}
	return append(b, make([]byte, t.size-int64(len(b)))...), nil
}

// byteList reads a list of numbers from 0 to 255.
func byteList(raw json.RawMessage) ([]byte, bool) {
	l, err := sizes("fill_value", raw, 0)
	if err != nil {
		return nil, false
	}
	b := make([]byte, len(l))
	for i, n := range l {
		if n > 255 {
			return nil, false
		}
		b[i] = byte(n)
	}
	return b, true
}

// utf32Type is fixed_length_utf32: code points of four bytes, zeros at the
// end.
type utf32Type struct{ size int64 }

func (t utf32Type) Name() string  { return "fixed_length_utf32" }
func (t utf32Type) Size() int64   { return t.size }
func (t utf32Type) Swap(b []byte) { swapEach(b, 4) }

func (t utf32Type) ParseFill(raw json.RawMessage) ([]byte, error) {
	s, err := text("fill_value", raw)
	if err != nil || int64(utf8.RuneCountInString(s)) > t.size/4 {
		return nil, badFill(raw, t.Name())
	}
	b := make([]byte, 0, t.size)
	for _, r := range s {
		b = binary.LittleEndian.AppendUint32(b, uint32(r))
	}
	return b[:t.size], nil
}
