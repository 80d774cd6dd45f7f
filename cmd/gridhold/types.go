package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
)

// zarrType is a data type as NumPy spells it (and Blosc2) as Zarr v3 does.
func zarrType(numpy string) (string, error) {
	if code, ok := strings.CutPrefix(numpy, ">"); ok {
		numpy = "<" + code // the elements are turned around
	}
	for name, descr := range npyTypes {
		if strings.TrimLeft(descr, "<|") == strings.TrimLeft(numpy, "<|") {
			return name, nil
		}
	}
	if code := strings.TrimLeft(numpy, "<|"); code != "" {
		digits, unit, timed := strings.Cut(strings.TrimSuffix(code[1:], "]"), "[")
		n, err := strconv.ParseInt(digits, 10, 31)
		switch kind := code[0]; {
		case err != nil:
		case kind == 'S':
			return sizedType("null_terminated_bytes", n), nil
		case kind == 'V':
			return sizedType("raw_bytes", n), nil
		case kind == 'U':
			return sizedType("fixed_length_utf32", 4*n), nil
		case (kind == 'M' || kind == 'm') && timed:
			name := strings.TrimLeft(unit, "0123456789")
			scale := strings.TrimSuffix(unit, name)
			if scale == "" {
				scale = "1"
			}
			full := map[byte]string{'M': "numpy.datetime64", 'm': "numpy.timedelta64"}[kind]
			return fmt.Sprintf(`{"name":%q,"configuration":{"unit":%q,"scale_factor":%s}}`, full, name, scale), nil
		}
	}
	return "", fault.New(fault.ErrUnsupported, "data type", numpy, "Zarr has no such type here")
}

func sizedType(name string, n int64) string {
	return fmt.Sprintf(`{"name":%q,"configuration":{"length_bytes":%d}}`, name, n)
}

// numpyType is a data type of Zarr v3 as NumPy spells it.
func numpyType(zarr string) (string, error) {
	if descr, ok := npyTypes[zarr]; ok {
		return descr, nil
	}
	var t struct {
		Name          string
		Configuration struct {
			Length int64  `json:"length_bytes"`
			Unit   string `json:"unit"`
			Scale  int64  `json:"scale_factor"`
		}
	}
	bits, raw := strings.CutPrefix(zarr, "r")
	n, err := strconv.ParseInt(bits, 10, 31)
	if raw && err == nil {
		return "|V" + strconv.FormatInt(n/8, 10), nil
	}
	if json.Unmarshal([]byte(zarr), &t) == nil {
		c := t.Configuration
		unit := c.Unit
		if c.Scale != 1 {
			unit = strconv.FormatInt(c.Scale, 10) + unit
		}
		switch t.Name {
		case "null_terminated_bytes":
			return "|S" + strconv.FormatInt(c.Length, 10), nil
		case "raw_bytes":
			return "|V" + strconv.FormatInt(c.Length, 10), nil
		case "fixed_length_utf32":
			return "<U" + strconv.FormatInt(c.Length/4, 10), nil
		case "numpy.datetime64":
			return "<M8[" + unit + "]", nil
		case "numpy.timedelta64":
			return "<m8[" + unit + "]", nil
		}
	}
	return "", fault.New(fault.ErrUnsupported, "data type", zarr, "Blosc2 has no such type here")
}
