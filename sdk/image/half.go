package image

import "math"

// fromHalf returns the value of an IEEE half, exactly.
func fromHalf(h uint16) float32 {
	sign, exp, frac := uint32(h&0x8000)<<16, uint32(h>>10&31), uint32(h&0x3ff)
	switch {
	case exp == 31: // infinity; a NaN keeps its bits
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	case exp != 0:
		return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
	}
	f := float32(frac) * 0x1p-24 // zero or subnormal
	return math.Float32frombits(math.Float32bits(f) | sign)
}

// toHalf returns the half nearest to x, the even one of two as near.
func toHalf(x float64) uint16 {
	b := math.Float64bits(x)
	sign := uint16(b >> 48 & 0x8000)
	a := math.Abs(x)
	switch {
	case x != x:
		return sign | 0x7e00
	case a >= 65520: // nearer to 65536 than to the largest half
		return sign | 0x7c00
	case a < 0x1p-14:
		return sign | uint16(math.RoundToEven(a*0x1p24)) // subnormal, or the smallest that is not
	}
	exp := uint16(b>>52&0x7ff) - (1023 - 15)
	frac := b & (1<<52 - 1)
	// Adding to the exponent is right also where rounding carries into it.
	h := exp<<10 + uint16(frac>>42)
	if rest, half := frac&(1<<42-1), uint64(1)<<41; rest > half || rest == half && h&1 == 1 {
		h++
	}
	return sign | h
}
