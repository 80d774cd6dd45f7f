package codec

import (
	"encoding/binary"
	"math"
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

// String returns the type as NumPy writes it.
func (t number) String() string {
	order := "<"
	if t.size == 1 {
		order = "|"
	} else if t.big {
		order = ">"
	}
	return order + string(t.kind) + strconv.Itoa(t.size)
}

// bits returns the first element of b.
func (t number) bits(b []byte) uint64 {
	order := binary.ByteOrder(binary.LittleEndian)
	if t.big {
		order = binary.BigEndian
	}
	switch t.size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(order.Uint16(b))
	case 4:
		return uint64(order.Uint32(b))
	}
	return order.Uint64(b)
}

// put writes the low bits of v as the first element of b.
func (t number) put(b []byte, v uint64) {
	order := binary.ByteOrder(binary.LittleEndian)
	if t.big {
		order = binary.BigEndian
	}
	switch t.size {
	case 1:
		b[0] = byte(v)
	case 2:
		order.PutUint16(b, uint16(v))
	case 4:
		order.PutUint32(b, uint32(v))
	default:
		order.PutUint64(b, v)
	}
}

// integer returns the first element of b, which is no float, with its sign
// extended.
func (t number) integer(b []byte) uint64 {
	v := t.bits(b)
	if t.kind == 'i' {
		shift := 64 - 8*t.size
		return uint64(int64(v<<shift) >> shift)
	}
	return v
}

// float returns the first element of b as the nearest float64.
func (t number) float(b []byte) float64 {
	switch v := t.bits(b); {
	case t.kind == 'i':
		return float64(int64(t.integer(b)))
	case t.kind != 'f':
		return float64(v)
	case t.size == 2:
		return half(uint16(v))
	case t.size == 4:
		return float64(math.Float32frombits(uint32(v)))
	default:
		return math.Float64frombits(v)
	}
}

// round returns f as the nearest number of a float type.
func (t number) round(f float64) float64 {
	switch {
	case t.kind != 'f' || t.size == 8:
		return f
	case t.size == 4:
		return float64(float32(f))
	}
	return half(toHalf(f))
}

// putFloat writes f as the first element of b. Integers get it truncated; what
// does not fit in 64 bits, and NaN, becomes the least int64, as on x86.
func (t number) putFloat(b []byte, f float64) {
	switch {
	case t.kind == 'b':
		t.put(b, truth(f != 0))
	case t.kind != 'f':
		t.put(b, truncate(f, t.kind == 'u' && t.size == 8))
	case t.size == 2:
		t.put(b, uint64(toHalf(f)))
	case t.size == 4:
		t.put(b, uint64(math.Float32bits(float32(f))))
	default:
		t.put(b, math.Float64bits(f))
	}
}

// truncate is the integer part of f. Go leaves what does not fit to the
// machine, and every machine must decode alike.
func truncate(f float64, unsigned bool) uint64 {
	switch {
	case f > -1<<63-1 && f < 1<<63:
		return uint64(int64(f))
	case unsigned && f >= 1<<63 && f < 1<<64:
		return uint64(int64(f-1<<63)) + 1<<63
	}
	return 1 << 63
}

// convert writes the first element of src, of type from, as one of type t:
// what C does with a cast.
func (t number) convert(dst, src []byte, from number) {
	switch {
	case t.kind == from.kind && t.size == from.size: // a NaN keeps its bits
		t.put(dst, from.bits(src))
	case from.kind == 'f':
		t.putFloat(dst, from.float(src))
	case t.kind == 'b':
		t.put(dst, truth(from.integer(src) != 0))
	case t.kind != 'f':
		t.put(dst, from.integer(src))
	case t.size == 8:
		t.putFloat(dst, from.float(src))
	case from.kind == 'u': // rounded once, not by way of a float64
		t.putFloat(dst, float64(float32(from.integer(src))))
	default:
		t.putFloat(dst, float64(float32(int64(from.integer(src)))))
	}
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// half is the value of the bits of a float16.
func half(h uint16) float64 {
	sign, exponent, fraction := uint64(h>>15)<<63, int(h>>10&31), uint64(h&0x3ff)
	switch exponent {
	case 0:
		f := math.Ldexp(float64(fraction), -24)
		return math.Float64frombits(math.Float64bits(f) | sign)
	case 31:
		return math.Float64frombits(sign | 0x7ff<<52 | fraction<<42)
	}
	return math.Float64frombits(sign | uint64(exponent-15+1023)<<52 | fraction<<42)
}

// toHalf is the float16 nearest to f, to even on a tie.
func toHalf(f float64) uint16 {
	bits := math.Float64bits(f)
	sign := uint16(bits >> 48 & 0x8000)
	a := math.Abs(f)
	switch {
	case f != f:
		payload := uint16(bits >> 42 & 0x3ff)
		if payload == 0 { // its bits were all too low
			payload = 1
		}
		return sign | 0x7c00 | payload
	case a >= 65520: // half way between the largest and what would follow
		return sign | 0x7c00
	case a < 1.0/(1<<14): // subnormal: a multiple of 2^-24
		return sign | uint16(math.RoundToEven(a*(1<<24)))
	}
	bits &^= 1 << 63
	bits += 1<<41 - 1 + bits>>42&1
	return sign | uint16(bits>>42-(1023-15)<<10)
}
