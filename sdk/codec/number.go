package codec

import (
	"strconv"
	"strings"
)

// number is the type of an element that filters calculate with: what NumPy
// writes as a byte order, a kind and a size.
type number struct {
	kind byte // b, i, u or f
	size int  // bytes
	big  bool
}

// parseNumber reads "<f4", "|u1" or a name like "float32"; a byte order that
// is not stated is little endian.
func parseNumber(s string) (number, bool) {
	if s == "bool" || s == "bool_" {
		s = "b1"
	}
	for _, k := range [...]struct{ name, kind string }{{"int", "i"}, {"uint", "u"}, {"float", "f"}} {
		if bits, ok := strings.CutPrefix(s, k.name); ok {
			if n, err := strconv.Atoi(bits); err == nil && n%8 == 0 {
				s = k.kind + strconv.Itoa(n/8)
			}
		}
	}
	var t number
	if s != "" && strings.IndexByte("<>|=", s[0]) >= 0 {
		t.big = s[0] == '>'
		s = s[1:]
	}
	switch s {
	case "b1", "i1", "u1":
		t.big = false
	case "i2", "u2", "f2", "i4", "u4", "f4", "i8", "u8", "f8":
	default:
		return number{}, false
	}
	t.kind, t.size = s[0], int(s[1]-'0')
	return t, true
}

// String returns the type as NumPy writes it; "" if there is none.
func (t number) String() string {
	if t.kind == 0 {
		return ""
	}
	order := "<"
	if t.size == 1 {
		order = "|"
	} else if t.big {
		order = ">"
	}
	return order + string(t.kind) + strconv.Itoa(t.size)
}
