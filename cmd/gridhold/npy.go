package main

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
)

// npyTypes are the data types as NumPy spells them.
var npyTypes = map[string]string{
	"bool": "|b1", "int8": "|i1", "uint8": "|u1",
	"int16": "<i2", "int32": "<i4", "int64": "<i8", "uint16": "<u2", "uint32": "<u4", "uint64": "<u8",
	"float16": "<f2", "float32": "<f4", "float64": "<f8", "complex64": "<c8", "complex128": "<c16",
}

// npyHeader returns what stands in front of the elements in a .npy file,
// format 1.0: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
func npyHeader(dataType string, shape []int64) ([]byte, error) {
	descr, ok := npyTypes[dataType]
	if !ok && strings.IndexAny(dataType, "<|") == 0 { // spelled so already
		descr, ok = dataType, true
	}
	if !ok {
		return nil, fault.New(fault.ErrUnsupported, "npy", dataType, "NumPy has no such type")
	}
	var dims strings.Builder
	for _, n := range shape {
		dims.WriteString(strconv.FormatInt(n, 10))
		dims.WriteString(", ")
	}
	tuple := strings.TrimSuffix(dims.String(), " ") // (3,) keeps its comma
	if len(shape) != 1 {
		tuple = strings.TrimSuffix(tuple, ",")
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, tuple)
	const prefix, alignment = 10, 64
	total := (prefix + len(dict) + 1 + alignment - 1) / alignment * alignment
	h := append([]byte("\x93NUMPY\x01\x00"), 0, 0)
	binary.LittleEndian.PutUint16(h[8:], uint16(total-prefix))
	h = append(h, dict...)
	for len(h) < total-1 {
		h = append(h, ' ')
	}
	return append(h, '\n'), nil
}
