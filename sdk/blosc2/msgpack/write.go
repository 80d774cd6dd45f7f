package msgpack

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// Append appends v in the fewest bytes, as python's msgpack does. v is of the
// types that Decode gives, or an int; ErrInvalid for others and for a string
// or list too long for the format.
func Append(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, 0xc0), nil
	case bool:
		if v {
			return append(dst, 0xc3), nil
		}
		return append(dst, 0xc2), nil
	case int:
		return appendInt(dst, int64(v)), nil
	case int64:
		return appendInt(dst, v), nil
	case uint64:
		if v <= math.MaxInt64 {
			return appendInt(dst, int64(v)), nil
		}
		return binary.BigEndian.AppendUint64(append(dst, 0xcf), v), nil
	case float64:
		return binary.BigEndian.AppendUint64(append(dst, 0xcb), math.Float64bits(v)), nil
	case string:
		return append(appendSize(dst, len(v), sizes{0xa0, 31, 0xd9, 0xda, 0xdb}), v...), checkSize(len(v))
	case []byte:
		return append(appendSize(dst, len(v), sizes{0, -1, 0xc4, 0xc5, 0xc6}), v...), checkSize(len(v))
	case []any:
		dst, err := appendSize(dst, len(v), sizes{0x90, 15, 0, 0xdc, 0xdd}), checkSize(len(v))
		for i := 0; i < len(v) && err == nil; i++ {
			dst, err = Append(dst, v[i])
		}
		return dst, err
	case Map:
		dst, err := appendSize(dst, len(v), sizes{0x80, 15, 0, 0xde, 0xdf}), checkSize(len(v))
		for i := 0; i < len(v) && err == nil; i++ {
			if dst, err = Append(dst, v[i].Key); err == nil {
				dst, err = Append(dst, v[i].Value)
			}
		}
		return dst, err
	case Ext:
		return append(append(appendExt(dst, len(v.Data)), byte(v.Type)), v.Data...), checkSize(len(v.Data))
	}
	return dst, fault.New(fault.ErrInvalid, "msgpack", "", "a value of a type that cannot be written")
}

func checkSize(n int) error {
	if int64(n) > math.MaxUint32 {
		return fault.New(fault.ErrInvalid, "msgpack", "", "more than 4 GiB")
	}
	return nil
}

// sizes are the ways to write the size of one kind of value: in the marker,
// up to small; after a marker, in 1 (0: no such form), 2 and 4 bytes.
type sizes struct {
	fixed          byte
	small          int
	one, two, four byte
}

func appendSize(dst []byte, n int, s sizes) []byte {
	switch {
	case n <= s.small:
		return append(dst, s.fixed|byte(n))
	case n < 1<<8 && s.one != 0:
		return append(dst, s.one, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, s.two), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, s.four), uint32(n))
}

func appendExt(dst []byte, n int) []byte {
	switch n {
	case 1, 2, 4, 8, 16:
		marker := byte(0xd4)
		for ; n > 1; n >>= 1 {
			marker++
		}
		return append(dst, marker)
	}
	return appendSize(dst, n, sizes{0, -1, 0xc7, 0xc8, 0xc9})
}

func appendInt(dst []byte, n int64) []byte {
	switch {
	case n >= -32 && n < 0x80:
		return append(dst, byte(n))
	case n >= 0 && n < 1<<8:
		return append(dst, 0xcc, byte(n))
	case n >= 0 && n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, 0xcd), uint16(n))
	case n >= 0 && n < 1<<32:
		return binary.BigEndian.AppendUint32(append(dst, 0xce), uint32(n))
	case n >= 0:
		return binary.BigEndian.AppendUint64(append(dst, 0xcf), uint64(n))
	case n >= math.MinInt8:
		return append(dst, 0xd0, byte(n))
	case n >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(dst, 0xd1), uint16(n))
	case n >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(dst, 0xd2), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xd3), uint64(n))
}

// WriteJSON writes what Decode gave as JSON. What JSON has no value for
// becomes an object with a telling name: bytes {"bytes": HEX}, an Ext
// {"ext": TYPE, "bytes": HEX}, floats that are not finite {"float": "NaN"},
// and a map with other keys than strings {"map": [[KEY, VALUE], …]}.
func WriteJSON(w *rawjson.Writer, v any) {
	switch v := v.(type) {
	case nil:
		w.Null()
	case bool:
		w.Bool(v)
	case int64:
		w.Int(v)
	case uint64:
		w.Raw(strconv.AppendUint(nil, v, 10))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			w.Open('{')
			w.Name("float").String(strconv.FormatFloat(v, 'g', -1, 64))
			w.Close('}')
			return
		}
		w.Float(v)
	case string:
		w.String(v)
	case []byte:
		w.Open('{')
		w.Name("bytes").String(hex.EncodeToString(v))
		w.Close('}')
	case Ext:
		w.Open('{')
		w.Name("ext").Int(int64(v.Type))
		w.Name("bytes").String(hex.EncodeToString(v.Data))
		w.Close('}')
	case []any:
		w.Open('[')
		for _, item := range v {
			WriteJSON(w, item)
		}
		w.Close(']')
	case Map:
		v.writeJSON(w)
	}
}

func (m Map) writeJSON(w *rawjson.Writer) {
	w.Open('{')
	if m.named() {
		for _, e := range m {
			WriteJSON(w.Name(e.Key.(string)), e.Value)
		}
		w.Close('}')
		return
	}
	w.Name("map").Open('[')
	for _, e := range m {
		WriteJSON(w, []any{e.Key, e.Value})
	}
	w.Close(']')
	w.Close('}')
}

// named reports whether all keys are strings.
func (m Map) named() bool {
	for _, e := range m {
		if _, ok := e.Key.(string); !ok {
			return false
		}
	}
	return true
}
