package codec

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// runLen is how many elements are calculated with at a time: few enough that
// what lies between the steps stays in the nearest cache.
const runLen = 512

// run holds elements between the steps, as 64 bits each: those of an integer
// with its sign extended, or those of a float64.
type run [runLen]uint64

// load sets r to the bits of elements of type t, and returns as many.
func (r *run) load(src []byte, t number) []uint64 {
	v := r[:len(src)/t.size]
	switch t.size {
	case 1:
		for i := range v {
			v[i] = uint64(src[i])
		}
	case 2:
		for i := range v {
			v[i] = uint64(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case 4:
		for i := range v {
			v[i] = uint64(binary.LittleEndian.Uint32(src[4*i:]))
		}
	default:
		for i := range v {
			v[i] = binary.LittleEndian.Uint64(src[8*i:])
		}
	}
	if t.big {
		reverse(v, t.size)
	}
	return v
}

// store writes the low bits of v as elements of type t. v is changed.
func store(dst []byte, v []uint64, t number) {
	if t.big {
		reverse(v, t.size)
	}
	switch t.size {
	case 1:
		for i, x := range v {
			dst[i] = byte(x)
		}
	case 2:
		for i, x := range v {
			binary.LittleEndian.PutUint16(dst[2*i:], uint16(x))
		}
	case 4:
		for i, x := range v {
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(x))
		}
	default:
		for i, x := range v {
			binary.LittleEndian.PutUint64(dst[8*i:], x)
		}
	}
}

// reverse exchanges the low size bytes of each of v.
func reverse(v []uint64, size int) {
	for i, x := range v {
		v[i] = bits.ReverseBytes64(x) >> (64 - 8*size)
	}
}

// integers is load for a type that is no float, with signs extended.
func (r *run) integers(src []byte, t number) []uint64 {
	v := r.load(src, t)
	if t.kind == 'i' {
		extend(v, t.size)
	}
	return v
}

// extend fills v with the sign of its low size bytes.
func extend(v []uint64, size int) {
	shift := 64 - 8*size
	for i, x := range v {
		v[i] = uint64(int64(x<<shift) >> shift)
	}
}

// floats sets r to elements of type from as floats that type to can hold, if
// that is a float, and else as the nearest float64. Each is rounded once.
func (r *run) floats(src []byte, from, to number) []uint64 {
	if from.kind != 'f' {
		v := r.integers(src, from)
		narrow := to.kind == 'f' && to.size < 8
		for i, x := range v {
			var f float64
			switch signed := from.kind == 'i'; {
			case signed && narrow:
				f = float64(float32(int64(x)))
			case signed:
				f = float64(int64(x))
			case narrow:
				f = float64(float32(x))
			default:
				f = float64(x)
			}
			v[i] = math.Float64bits(f)
		}
		return round(v, to)
	}
	v := r.load(src, from)
	switch from.size {
	case 2:
		for i, x := range v {
			v[i] = math.Float64bits(half(uint16(x)))
		}
	case 4:
		for i, x := range v {
			v[i] = math.Float64bits(float64(math.Float32frombits(uint32(x))))
		}
	}
	if to.size < from.size {
		return round(v, to)
	}
	return v
}

// round rounds float64s to what type t holds, if that is a float.
func round(v []uint64, t number) []uint64 {
	for i, x := range v {
		v[i] = math.Float64bits(t.round(math.Float64frombits(x)))
	}
	return v
}

// storeFloats writes float64s as elements of type t; see truncate for
// integers. v is changed.
func storeFloats(dst []byte, v []uint64, t number) {
	switch {
	case t.kind == 'b':
		for i, x := range v {
			v[i] = truth(math.Float64frombits(x) != 0)
		}
	case t.kind != 'f':
		for i, x := range v {
			v[i] = truncate(math.Float64frombits(x), t)
		}
	case t.size == 2:
		for i, x := range v {
			v[i] = uint64(toHalf(math.Float64frombits(x)))
		}
	case t.size == 4:
		for i, x := range v {
			v[i] = uint64(math.Float32bits(float32(math.Float64frombits(x))))
		}
	}
	store(dst, v, t)
}

// convert writes the elements of src, of type from, as elements of type to:
// what C does with a cast.
func (r *run) convert(dst, src []byte, from, to number) {
	switch {
	case from.kind == to.kind && from.size == to.size: // a NaN keeps its bits
		store(dst, r.load(src, from), to)
	case from.kind == 'f' || to.kind == 'f':
		storeFloats(dst, r.floats(src, from, to), to)
	default:
		v := r.integers(src, from)
		if to.kind == 'b' {
			for i, x := range v {
				v[i] = truth(x != 0)
			}
		}
		store(dst, v, to)
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

// truncate is the integer part of f, for type t. What does not fit is not
// defined in C, and Go leaves it to the machine; here it is on every machine
// what NumPy does on x86: the least integer of the 32 or 64 bits that are
// converted to.
func truncate(f float64, t number) uint64 {
	switch wide := t.size == 8 || t.kind == 'u' && t.size == 4; {
	case !wide && !(f > -1<<31-1 && f < 1<<31):
		return 1 << 31
	case f >= -1<<63 && f < 1<<63:
		return uint64(int64(f))
	case t.kind == 'u' && t.size == 8 && f >= 1<<63:
		return truncate(f-1<<63, number{kind: 'i', size: 8}) ^ 1<<63
	}
	return 1 << 63
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
