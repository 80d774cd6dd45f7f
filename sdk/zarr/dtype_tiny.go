package zarr

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"

	"github.com/gridhold/gridhold/sdk/rawjson"
)

// Types of few bits, one byte an element (bfloat16: two). Their Go form is
// their bits; Float64 reads the floating-point ones.

// tinyInteger is int2, int4, uint2 and uint4: the value, sign-extended to a
// byte.
type tinyInteger struct {
	name     string
	min, max int64
}

var tinyIntegers = map[string]tinyInteger{
	"int2": {"int2", -2, 1}, "int4": {"int4", -8, 7}, "uint2": {"uint2", 0, 3}, "uint4": {"uint4", 0, 15},
}

func (t tinyInteger) Name() string { return t.name }
func (t tinyInteger) Size() int64  { return 1 }
func (t tinyInteger) Swap([]byte)  {}

func (t tinyInteger) ParseFill(raw json.RawMessage) ([]byte, error) {
	n, err := strconv.ParseInt(string(raw), 10, 8)
	if err != nil || n < t.min || n > t.max {
		return nil, badFill(raw, t.name)
	}
	return []byte{byte(n)}, nil
}

// tinyFloat is a floating-point format of at most 16 bits: sign, exponent,
// mantissa. Formats of the OCP microscaling specification and of ml_dtypes:
// https://github.com/jax-ml/ml_dtypes
type tinyFloat struct {
	name     string
	size     int64
	exponent uint // bits
	mantissa uint // bits
	bias     int
	signed   bool
	kind     nanKind
}

// nanKind says what a format does with its top codes.
type nanKind int

const (
	ieee    nanKind = iota // the top exponent is infinity and NaN
	oneNaN                 // all ones is NaN, there is no infinity
	negZero                // the code of -0 is the only NaN ("uz")
	finite                 // every code is a number
	scale                  // no sign, no mantissa: 2^(code-bias); all ones is NaN
)

var tinyFloats = map[string]tinyFloat{
	"bfloat16":           {"bfloat16", 2, 8, 7, 127, true, ieee},
	"float8_e3m4":        {"float8_e3m4", 1, 3, 4, 3, true, ieee},
	"float8_e4m3":        {"float8_e4m3", 1, 4, 3, 7, true, ieee},
	"float8_e5m2":        {"float8_e5m2", 1, 5, 2, 15, true, ieee},
	"float8_e4m3fn":      {"float8_e4m3fn", 1, 4, 3, 7, true, oneNaN},
	"float8_e4m3b11fnuz": {"float8_e4m3b11fnuz", 1, 4, 3, 11, true, negZero},
	"float8_e4m3fnuz":    {"float8_e4m3fnuz", 1, 4, 3, 8, true, negZero},
	"float8_e5m2fnuz":    {"float8_e5m2fnuz", 1, 5, 2, 16, true, negZero},
	"float8_e8m0fnu":     {"float8_e8m0fnu", 1, 8, 0, 127, false, scale},
	"float6_e2m3fn":      {"float6_e2m3fn", 1, 2, 3, 1, true, finite},
	"float6_e3m2fn":      {"float6_e3m2fn", 1, 3, 2, 3, true, finite},
	"float4_e2m1fn":      {"float4_e2m1fn", 1, 2, 1, 1, true, finite},
}

func findTiny(field string, e extension) (DataType, error) {
	if t, ok := tinyIntegers[e.name]; ok {
		return t, e.only(field)
	}
	if t, ok := tinyFloats[e.name]; ok {
		return t, e.only(field)
	}
	return nil, nil
}

func (t tinyFloat) Name() string  { return t.name }
func (t tinyFloat) Size() int64   { return t.size }
func (t tinyFloat) Swap(b []byte) { swapEach(b, int(t.size)) }

// Float64 returns the value of an element from its bits.
func (t tinyFloat) Float64(bits uint16) float64 {
	sign := 1.0
	if t.signed && bits>>(t.exponent+t.mantissa)&1 == 1 {
		sign = -1
	}
	e, m := int(bits>>t.mantissa)&(1<<t.exponent-1), int(bits)&(1<<t.mantissa-1)
	top := e == 1<<t.exponent-1
	switch {
	case t.kind == scale && top, t.kind == oneNaN && top && m == 1<<t.mantissa-1, t.kind == negZero && sign < 0 && e == 0 && m == 0:
		return math.NaN()
	case t.kind == ieee && top && m != 0:
		return math.NaN()
	case t.kind == ieee && top:
		return math.Inf(int(sign))
	case t.kind == scale:
		return math.Ldexp(1, e-t.bias)
	case e == 0:
		return sign * math.Ldexp(float64(m), 1-t.bias-int(t.mantissa))
	}
	return sign * math.Ldexp(float64(1<<t.mantissa+m), e-t.bias-int(t.mantissa))
}

// ParseFill is like that of the wider floats. Numbers round to the nearest
// that the format has, to even between two; the formats are small enough to
// look through.
func (t tinyFloat) ParseFill(raw json.RawMessage) ([]byte, error) {
	wide := floats["float64"]
	if isText(raw) {
		if s, err := rawjson.String(raw); err == nil {
			if b := fillBits(s, int(t.size)); b != nil {
				return b, nil
			}
		}
	}
	b, err := wide.ParseFill(raw)
	if err != nil {
		return nil, badFill(raw, t.name)
	}
	want := math.Float64frombits(binary.LittleEndian.Uint64(b))
	best, found := uint16(0), false
	codes := uint32(1) << (t.exponent + t.mantissa)
	if t.signed {
		codes *= 2
	}
	for code := range codes {
		v := t.Float64(uint16(code))
		if math.IsNaN(want) || math.IsInf(want, 0) || want == 0 {
			if same := math.IsNaN(want) && math.IsNaN(v) && t.quiet(uint16(code)) || v == want && math.Signbit(v) == math.Signbit(want); same {
				return t.bits(uint16(code)), nil
			}
			continue
		}
		if math.IsNaN(v) || math.IsInf(v, 0) || math.Signbit(v) != math.Signbit(want) {
			continue
		}
		d, old := math.Abs(v-want), math.Abs(t.Float64(best)-want)
		if !found || d < old || d == old && code&1 == 0 {
			best, found = uint16(code), true
		}
	}
	// Further from the largest number than half a step: it would be infinite.
	if !found || math.Abs(want) > t.largest()*(1+math.Ldexp(1, -int(t.mantissa)-2)) {
		return nil, badFill(raw, t.name)
	}
	return t.bits(best), nil
}

// quiet reports whether a NaN is the one that "NaN" means: positive, with
// only the top bit of the mantissa set where there is a choice.
func (t tinyFloat) quiet(code uint16) bool {
	if t.kind != ieee {
		return true
	}
	return code == (1<<t.exponent-1)<<t.mantissa|1<<(t.mantissa-1)
}

func (t tinyFloat) largest() float64 {
	var most float64
	for code := range uint32(1) << (t.exponent + t.mantissa) {
		if v := t.Float64(uint16(code)); !math.IsInf(v, 0) && v > most {
			most = v
		}
	}
	return most
}

func (t tinyFloat) bits(code uint16) []byte {
	return binary.LittleEndian.AppendUint16(nil, code)[:t.size]
}
