package zarr

import (
	"encoding/json"
	"slices"
	"strconv"
)

// timeType is numpy.datetime64 and numpy.timedelta64: a count of units, 64
// bits, the smallest number being "not a time".
type timeType struct {
	name  string
	Unit  string // "ns", "D", …; "generic"
	Scale int64  // units per count
}

var timeUnits = []string{"generic", "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "μs", "ns", "ps", "fs", "as"}

func findTime(field string, e extension) (DataType, error) {
	if e.name != "numpy.datetime64" && e.name != "numpy.timedelta64" {
		return nil, nil
	}
	if err := e.only(field, "unit", "scale_factor"); err != nil {
		return nil, err
	}
	t := timeType{name: e.name}
	var err error
	if t.Unit, err = text(field+".unit", e.config["unit"]); err != nil {
		return nil, err
	}
	if !slices.Contains(timeUnits, t.Unit) {
		return nil, malformed(field+".unit", "unknown unit "+strconv.Quote(t.Unit))
	}
	if t.Scale, err = integer(field+".scale_factor", e.config["scale_factor"]); err != nil {
		return nil, err
	}
	if t.Scale < 1 || t.Scale > 1<<31-1 {
		return nil, malformed(field+".scale_factor", itoa(t.Scale)+" is not in 1..2147483647")
	}
	return t, nil
}

func (t timeType) Name() string  { return t.name }
func (t timeType) Size() int64   { return 8 }
func (t timeType) Swap(b []byte) { swapEach(b, 8) }

func (t timeType) ParseFill(raw json.RawMessage) ([]byte, error) {
	if string(raw) == `"NaT"` {
		return []byte{0, 0, 0, 0, 0, 0, 0, 0x80}, nil
	}
	b, err := integers["int64"].ParseFill(raw)
	if err != nil {
		return nil, badFill(raw, t.name)
	}
	return b, nil
}
