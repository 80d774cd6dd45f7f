package interop

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
)

// elementType is a column of the table: a data type and its elements.
type elementType struct {
	name   string           // in the tests
	dtype  string           // in metadata
	serial string           // "": bytes; else the codec of elements of variable length
	at     func(int) []byte // element i in canonical form
}

// bits makes elements whose bits come from an integer.
func bits(size int, of func(i int) uint64) func(int) []byte {
	return func(i int) []byte {
		return binary.LittleEndian.AppendUint64(nil, of(i))[:size]
	}
}

// spread gives integers in which every byte differs.
func spread(i int) uint64 { return uint64(i+1) * 0x9e3779b97f4a7c15 }

func text(i int) []byte { return []byte(strings.Repeat("añ\U0001f409", i%4) + fmt.Sprint(i)) }

// lengthed puts the length before elements of variable length.
func lengthed(of func(int) []byte) func(int) []byte {
	return func(i int) []byte {
		b := of(i)
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
	}
}

// padded fills elements up with zeros.
func padded(size int, of func(int) []byte) func(int) []byte {
	return func(i int) []byte { return append(of(i), make([]byte, size)...)[:size] }
}

func float32Bits(i int) uint64 { return uint64(math.Float32bits(float32(i) * -1.37)) }
func float64Bits(i int) uint64 { return math.Float64bits(float64(i) * 1e-3) }

var elementTypes = []elementType{
	{name: "bool", dtype: "bool", at: bits(1, func(i int) uint64 { return uint64(i % 3 & 1) })},
	{name: "int8", dtype: "int8", at: bits(1, spread)},
	{name: "int16", dtype: "int16", at: bits(2, spread)},
	{name: "int32", dtype: "int32", at: bits(4, spread)},
	{name: "int64", dtype: "int64", at: bits(8, spread)},
	{name: "uint8", dtype: "uint8", at: bits(1, spread)},
	{name: "uint16", dtype: "uint16", at: bits(2, spread)},
	{name: "uint32", dtype: "uint32", at: bits(4, spread)},
	{name: "uint64", dtype: "uint64", at: bits(8, spread)},
	{name: "float16", dtype: "float16", at: bits(2, func(i int) uint64 { return uint64(0x3c00 + 0x23*i) })},
	{name: "float32", dtype: "float32", at: bits(4, float32Bits)},
	{name: "float64", dtype: "float64", at: bits(8, float64Bits)},
	{name: "complex64", dtype: "complex64", at: bits(8, func(i int) uint64 { return float32Bits(i) | float32Bits(i+70)<<32 })},
	{name: "complex128", dtype: "complex128", at: func(i int) []byte {
		return binary.LittleEndian.AppendUint64(bits(8, float64Bits)(i), float64Bits(-i))
	}},
	{name: "int2", dtype: "int2", at: bits(1, func(i int) uint64 { return uint64(i%4 - 2) })},
	{name: "uint2", dtype: "uint2", at: bits(1, func(i int) uint64 { return uint64(i % 4) })},
	{name: "int4", dtype: "int4", at: bits(1, func(i int) uint64 { return uint64(i%16 - 8) })},
	{name: "uint4", dtype: "uint4", at: bits(1, func(i int) uint64 { return uint64(i % 16) })},
	{name: "bfloat16", dtype: "bfloat16", at: bits(2, func(i int) uint64 { return uint64(0xbf80 + 0x13*i) })},
	{name: "float8_e4m3fn", dtype: "float8_e4m3fn", at: bits(1, func(i int) uint64 { return uint64(i * 3 % 0x7f) })},
	{name: "float8_e4m3fnuz", dtype: "float8_e4m3fnuz", at: bits(1, func(i int) uint64 { return uint64(i * 3 % 0x7f) })},
	{name: "float8_e5m2", dtype: "float8_e5m2", at: bits(1, func(i int) uint64 { return uint64(i * 3 % 0x7c) })},
	{name: "float8_e3m4", dtype: "float8_e3m4", at: bits(1, func(i int) uint64 { return uint64(i * 3 % 0x70) })},
	{name: "r24", dtype: "r24", at: bits(3, spread)},
	{name: "raw_bytes", dtype: `{"name":"raw_bytes","configuration":{"length_bytes":5}}`, at: bits(5, spread)},
	{name: "fixed_bytes", dtype: `{"name":"null_terminated_bytes","configuration":{"length_bytes":5}}`,
		at: padded(5, func(i int) []byte { return fmt.Appendf(nil, "%x", i*i) })},
	{name: "fixed_text", dtype: `{"name":"fixed_length_utf32","configuration":{"length_bytes":12}}`,
		at: padded(12, func(i int) []byte { return append([]byte{byte('a' + i%26), 0, 0, 0}, 0x09, 0xf4, 1, 0)[:4+i%2*4] })},
	{name: "datetime", dtype: `{"name":"numpy.datetime64","configuration":{"unit":"ns","scale_factor":1}}`, at: bits(8, spread)},
	{name: "timedelta", dtype: `{"name":"numpy.timedelta64","configuration":{"unit":"s","scale_factor":10}}`, at: bits(8, spread)},
	{name: "struct", dtype: `{"name":"struct","configuration":{"fields":[{"name":"x","data_type":"float32"},{"name":"id","data_type":"uint16"}]}}`,
		at: func(i int) []byte { return append(bits(4, float32Bits)(i), bits(2, spread)(i)...) }},
	{name: "structured", dtype: `{"name":"structured","configuration":{"fields":[["x","float32"],["id","uint16"]]}}`,
		at: func(i int) []byte { return append(bits(4, float32Bits)(i), bits(2, spread)(i)...) }},
	{name: "string", dtype: "string", serial: "vlen-utf8", at: lengthed(text)},
	{name: "bytes", dtype: "bytes", serial: "vlen-bytes", at: lengthed(text)},
	{name: "variable_length_bytes", dtype: "variable_length_bytes", serial: "vlen-bytes", at: lengthed(text)},
}

func typeNamed(name string) elementType {
	return elementTypes[slices.IndexFunc(elementTypes, func(e elementType) bool { return e.name == name })]
}

// zero is the fill value of arrays that do not say more: no bits, no bytes.
func (e elementType) zero() []byte {
	if e.serial != "" {
		return make([]byte, 4)
	}
	return make([]byte, len(e.at(0)))
}
