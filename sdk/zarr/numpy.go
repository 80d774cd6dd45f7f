package zarr

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// numpyType is a type as numpy spells it, which is how v2 does: byte order,
// kind, size.
//
// https://numpy.org/doc/stable/reference/arrays.interface.html
type numpyType struct {
	dtype     DataType
	bigEndian bool
}

// parseNumpyType reads "<i4", "|S5", "<M8[ns]", "|O" or a list of fields.
// objects is the filter that an object type is stored through.
func parseNumpyType(field string, raw json.RawMessage, objects string) (numpyType, error) {
	if !isText(raw) {
		return parseNumpyStruct(field, raw, 0)
	}
	s, err := text(field, raw)
	if err != nil {
		return numpyType{}, err
	}
	return numpyName(field, s, objects)
}

func numpyName(field, s, objects string) (numpyType, error) {
	if len(s) < 2 || !strings.Contains("<>|=", s[:1]) {
		return numpyType{}, malformed(field, strconv.Quote(s)+" is no numpy type")
	}
	t := numpyType{bigEndian: s[0] == '>'}
	if s == "|O" {
		return t, objectType(field, objects, &t)
	}
	kind, rest := s[1], s[2:]
	unit := ""
	if i := strings.IndexByte(rest, '['); i >= 0 && (kind == 'M' || kind == 'm') {
		unit, rest = rest[i:], rest[:i]
	}
	n, err := strconv.ParseInt(rest, 10, 32)
	if err != nil || n < 1 || n > maxElement {
		return t, malformed(field, strconv.Quote(s)+" is no numpy type")
	}
	if kind == 'M' || kind == 'm' {
		t.dtype, err = numpyTime(field, kind, n, unit)
		return t, err
	}
	switch kind {
	case 'b':
		t.dtype = boolean{}
	case 'i':
		t.dtype = findInteger("int" + itoa(8*n))
	case 'u':
		t.dtype = findInteger("uint" + itoa(8*n))
	case 'f':
		t.dtype = findFloat("float" + itoa(8*n))
	case 'c':
		t.dtype = findComplex("complex" + itoa(8*n))
	case 'S', 'a':
		t.dtype = bytesType{"null_terminated_bytes", n}
	case 'V':
		t.dtype = bytesType{"raw_bytes", n}
	case 'U':
		t.dtype = utf32Type{4 * n}
	}
	if t.dtype == nil || kind == 'b' && n != 1 {
		return t, fault.New(fault.ErrUnsupported, "metadata", field, "unknown type "+strconv.Quote(s))
	}
	return t, nil
}

func objectType(field, objects string, t *numpyType) error {
	switch objects {
	case "vlen-utf8":
		t.dtype = variableType{"string", true}
	case "vlen-bytes":
		t.dtype = variableType{"variable_length_bytes", false}
	case "":
		return malformed(field, "objects without a filter that stores them")
	default:
		return fault.New(fault.ErrUnsupported, "metadata", field, "objects stored by "+strconv.Quote(objects))
	}
	return nil
}

// numpyTime reads the unit of a time: "[ns]", "[10s]" or nothing.
func numpyTime(field string, kind byte, n int64, unit string) (DataType, error) {
	if n != 8 {
		return nil, malformed(field, "a time of "+itoa(n)+" bytes")
	}
	name, scale := strings.TrimSuffix(strings.TrimPrefix(unit, "["), "]"), int64(1)
	if digits := strings.TrimRight(name, "abcdefghijklmnopqrstuvwxyzμYMWD"); digits != "" {
		var err error
		if scale, err = strconv.ParseInt(digits, 10, 32); err != nil {
			return nil, malformed(field, strconv.Quote(unit)+" is no unit of time")
		}
		name = name[len(digits):]
	}
	if name == "" {
		name = "generic"
	}
	config := json.RawMessage(`{"scale_factor":` + itoa(scale) + `,"unit":` + string(rawjson.AppendString(nil, name)) + `}`)
	full := map[byte]string{'M': "numpy.datetime64", 'm': "numpy.timedelta64"}[kind]
	e := extension{name: full, raw: config}
	e.config, _ = object(field, config)
	return findTime(field, e)
}

// parseNumpyStruct reads a list of [name, type] pairs. Its numbers must have
// one byte order.
func parseNumpyStruct(field string, raw json.RawMessage, depth int) (numpyType, error) {
	l, err := list(field, raw)
	if err != nil {
		return numpyType{}, err
	}
	if len(l) == 0 || depth == maxStructDepth {
		return numpyType{}, malformed(field, "want fields, not nested too deep")
	}
	out, t, ordered := numpyType{}, structType{name: "struct"}, false
	for i, raw := range l {
		at := field + "[" + itoa(int64(i)) + "]"
		pair, err := list(at, raw)
		if err != nil {
			return out, err
		}
		if len(pair) == 3 {
			return out, fault.New(fault.ErrUnsupported, "metadata", at, "a field that is an array")
		}
		if len(pair) != 2 {
			return out, malformed(at, "want a name and a type")
		}
		name, err := text(at, pair[0])
		if err != nil {
			return out, err
		}
		var f numpyType
		if isText(pair[1]) {
			f, err = parseNumpyType(at, pair[1], "")
		} else {
			f, err = parseNumpyStruct(at, pair[1], depth+1)
		}
		if err != nil {
			return out, err
		}
		if hasOrder(newElement(f.dtype, nil)) {
			if ordered && f.bigEndian != out.bigEndian {
				return out, fault.New(fault.ErrUnsupported, "metadata", at, "fields of both byte orders")
			}
			out.bigEndian, ordered = f.bigEndian, true
		}
		if err := t.add(at, name, f.dtype); err != nil {
			return out, err
		}
	}
	out.dtype = t
	return out, nil
}

// numpyString spells a type as numpy does, little endian; "" for a type that
// is no number.
func numpyString(t DataType) string {
	kind := ""
	switch t := t.(type) {
	case boolean:
		return "|b1"
	case integerType:
		kind = "u"
		if t.signed {
			kind = "i"
		}
	case floatType:
		kind = "f"
	case complexType:
		kind = "c"
	default:
		return ""
	}
	order := "<"
	if t.Size() == 1 {
		order = "|"
	}
	return order + kind + itoa(t.Size())
}
