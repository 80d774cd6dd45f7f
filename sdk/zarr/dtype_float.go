package zarr

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"

	"github.com/gridhold/gridhold/sdk/rawjson"
)

// floatType is float16, float32 and float64 (IEEE 754).
type floatType struct {
	name string
	bits int
}

var floats = map[string]floatType{"float16": {"float16", 16}, "float32": {"float32", 32}, "float64": {"float64", 64}}

func findFloat(name string) DataType {
	if t, ok := floats[name]; ok {
		return t
	}
	return nil
}

func (t floatType) Name() string  { return t.name }
func (t floatType) Size() int64   { return int64(t.bits / 8) }
func (t floatType) Swap(b []byte) { swapEach(b, t.bits/8) }

// ParseFill reads a number, "NaN" (the quiet NaN with only the top bit of
// its mantissa set), "Infinity", "-Infinity", or the bits in hexadecimal.
// Numbers round half to even; one that rounds to infinity is refused.
func (t floatType) ParseFill(raw json.RawMessage) ([]byte, error) {
	if b, ok := t.parse(raw); ok {
		return b, nil
	}
	return nil, badFill(raw, t.name)
}

func (t floatType) parse(raw json.RawMessage) ([]byte, bool) {
	if !isText(raw) {
		precision := 64
		if t.bits == 32 {
			precision = 32 // rounded once, from the text
		}
		f, err := strconv.ParseFloat(string(raw), precision)
		if err != nil || !rawjson.IsNumber(raw) { // ParseFloat takes more
			return nil, false
		}
		b := t.bytes(f)
		return b, !t.isInf(b)
	}
	s, err := rawjson.String(raw)
	if err != nil {
		return nil, false
	}
	switch s {
	case "NaN":
		return t.quietNaN(), true
	case "Infinity":
		return t.bytes(math.Inf(1)), true
	case "-Infinity":
		return t.bytes(math.Inf(-1)), true
	}
	b := fillBits(s, t.bits/8)
	return b, b != nil
}

func (t floatType) bytes(f float64) []byte {
	switch t.bits {
	case 16:
		return binary.LittleEndian.AppendUint16(nil, float16Bits(f))
	case 32:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(f)))
	}
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))
}

func (t floatType) quietNaN() []byte {
	switch t.bits {
	case 16:
		return []byte{0x00, 0x7e}
	case 32:
		return []byte{0, 0, 0xc0, 0x7f}
	}
	return []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}
}

func (t floatType) isInf(b []byte) bool {
	switch t.bits {
	case 16:
		return binary.LittleEndian.Uint16(b)&0x7fff == 0x7c00
	case 32:
		return binary.LittleEndian.Uint32(b)&0x7fffffff == 0x7f800000
	}
	return binary.LittleEndian.Uint64(b)&(1<<63-1) == 0x7ff<<52
}

// float16Bits rounds to the nearest half-precision number, ties to even.
func float16Bits(f float64) uint16 {
	b := math.Float64bits(f)
	sign := uint16(b >> 48 & 0x8000)
	if f == 0 {
		return sign
	}
	if math.IsInf(f, 0) {
		return sign | 0x7c00
	}
	frac, exp := math.Frexp(math.Abs(f)) // 0.5 <= frac < 1
	exp--                                // f = (2 frac) 2^exp
	if exp > 15 {
		return sign | 0x7c00
	}
	if exp < -14 { // subnormal: units of 2^-24
		return sign | uint16(math.RoundToEven(math.Ldexp(math.Abs(f), 24)))
	}
	// A mantissa that rounds up to 2048 carries into the exponent, as it must.
	m := math.RoundToEven(math.Ldexp(frac, 11)) // 1024 <= m <= 2048
	return sign | uint16((exp+15-1)<<10+int(m))
}
