package image

import (
	"encoding/binary"
	"math"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Castable reports whether pixels of one type can be turned into another: any
// real type into any, any complex one into any.
func Castable(from, to Type) bool {
	return from.Valid() && to.Valid() && from.IsComplex() == to.IsComplex()
}

// Cast turns the pixels in src into another type, in dst. They may not
// overlap; len(dst) is that many pixels.
//
// A number that becomes an integer loses its fraction and is held within what
// the type can say: 300.7 is 127 as int8. NaN becomes 0. A number that
// becomes a float is rounded to the nearest, too large a one is infinite.
//
// ErrInvalid unless Castable and the lengths agree.
func Cast(dst []byte, to Type, src []byte, from Type) error {
	if !Castable(from, to) {
		return fault.New(fault.ErrInvalid, "image", "", "pixels of type "+from.String()+" are not cast to "+to.String())
	}
	n := len(src) / from.Size()
	if n*from.Size() != len(src) || n*to.Size() != len(dst) {
		return fault.New(fault.ErrInvalid, "image", "", "a cast between buffers of unlike length")
	}
	if from == to {
		copy(dst, src)
		return nil
	}
	from, to = from.part(), to.part()
	var integers [512]int64
	var floats [512]float64
	width, room := from.Size(), to.Size()
	for len(src) > 0 { // a block that the caches of a processor hold
		k := min(len(src)/width, len(integers))
		if from.isInteger() && !(from == Uint64 && !to.isInteger()) {
			decodeIntegers(integers[:k], src, from)
			encodeIntegers(dst, to, integers[:k])
		} else {
			decodeFloats(floats[:k], src, from)
			encodeFloats(dst, to, floats[:k])
		}
		src, dst = src[k*width:], dst[k*room:]
	}
	return nil
}

// part is the type of the two numbers of a complex one; of a real one, itself.
func (t Type) part() Type {
	switch t {
	case ComplexInt16:
		return Int16
	case Complex64:
		return Float32
	case Complex128:
		return Float64
	}
	return t
}

func (t Type) isInteger() bool { return !t.IsComplex() && t != Float16 && t != Float32 && t != Float64 }

// decodeIntegers reads whole numbers. Those of uint64 beyond 63 bits become
// the largest: no other type of integers holds more.
func decodeIntegers(dst []int64, src []byte, t Type) {
	le := binary.LittleEndian
	for i := range dst {
		switch t {
		case Int8:
			dst[i] = int64(int8(src[i]))
		case Uint8:
			dst[i] = int64(src[i])
		case Int16:
			dst[i] = int64(int16(le.Uint16(src[2*i:])))
		case Uint16:
			dst[i] = int64(le.Uint16(src[2*i:]))
		case Int32:
			dst[i] = int64(int32(le.Uint32(src[4*i:])))
		case Uint32:
			dst[i] = int64(le.Uint32(src[4*i:]))
		case Int64:
			dst[i] = int64(le.Uint64(src[8*i:]))
		case Uint64:
			dst[i] = int64(min(le.Uint64(src[8*i:]), math.MaxInt64))
		}
	}
}

func encodeIntegers(dst []byte, t Type, src []int64) {
	le := binary.LittleEndian
	for i, v := range src {
		switch t {
		case Int8:
			dst[i] = byte(min(max(v, math.MinInt8), math.MaxInt8))
		case Uint8:
			dst[i] = byte(min(max(v, 0), math.MaxUint8))
		case Int16:
			le.PutUint16(dst[2*i:], uint16(min(max(v, math.MinInt16), math.MaxInt16)))
		case Uint16:
			le.PutUint16(dst[2*i:], uint16(min(max(v, 0), math.MaxUint16)))
		case Float16:
			le.PutUint16(dst[2*i:], toHalf(float64(v)))
		case Int32:
			le.PutUint32(dst[4*i:], uint32(min(max(v, math.MinInt32), math.MaxInt32)))
		case Uint32:
			le.PutUint32(dst[4*i:], uint32(min(max(v, 0), math.MaxUint32)))
		case Float32:
			le.PutUint32(dst[4*i:], math.Float32bits(float32(v)))
		case Int64:
			le.PutUint64(dst[8*i:], uint64(v))
		case Uint64:
			le.PutUint64(dst[8*i:], uint64(max(v, 0)))
		case Float64:
			le.PutUint64(dst[8*i:], math.Float64bits(float64(v)))
		}
	}
}

func decodeFloats(dst []float64, src []byte, t Type) {
	le := binary.LittleEndian
	for i := range dst {
		switch t {
		case Float16:
			dst[i] = float64(fromHalf(le.Uint16(src[2*i:])))
		case Float32:
			dst[i] = float64(math.Float32frombits(le.Uint32(src[4*i:])))
		case Float64:
			dst[i] = math.Float64frombits(le.Uint64(src[8*i:]))
		case Uint64:
			dst[i] = float64(le.Uint64(src[8*i:]))
		}
	}
}

func encodeFloats(dst []byte, t Type, src []float64) {
	le := binary.LittleEndian
	for i, v := range src {
		switch t {
		case Float16:
			le.PutUint16(dst[2*i:], toHalf(v))
		case Float32:
			le.PutUint32(dst[4*i:], math.Float32bits(float32(v)))
		case Float64:
			le.PutUint64(dst[8*i:], math.Float64bits(v))
		case Uint64:
			le.PutUint64(dst[8*i:], unsigned(v))
		default:
			var whole [1]int64
			whole[0] = signed(v)
			encodeIntegers(dst[i*t.Size():], t, whole[:])
		}
	}
}

// signed is the whole number towards zero, within int64; 0 for NaN. What Go
// makes of a float out of range differs from machine to machine.
func signed(v float64) int64 {
	switch {
	case v != v:
		return 0
	case v >= 1<<63:
		return math.MaxInt64
	case v <= -1<<63:
		return math.MinInt64
	}
	return int64(v)
}

func unsigned(v float64) uint64 {
	switch {
	case !(v > 0): // and NaN
		return 0
	case v >= 1<<64:
		return math.MaxUint64
	}
	return uint64(v)
}
