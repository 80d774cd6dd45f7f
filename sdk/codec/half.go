package codec

import "math"

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
