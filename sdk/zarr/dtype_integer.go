package zarr

import (
	"encoding/binary"
	"encoding/json"
	"strconv"
)

// integerType is int8 to int64 and uint8 to uint64.
type integerType struct {
	name   string
	bits   int
	signed bool
}

var integers = map[string]integerType{
	"int8": {"int8", 8, true}, "int16": {"int16", 16, true}, "int32": {"int32", 32, true}, "int64": {"int64", 64, true},
	"uint8": {"uint8", 8, false}, "uint16": {"uint16", 16, false}, "uint32": {"uint32", 32, false}, "uint64": {"uint64", 64, false},
}

func findInteger(name string) DataType {
	if t, ok := integers[name]; ok {
		return t
	}
	return nil
}

func (t integerType) Name() string  { return t.name }
func (t integerType) Size() int64   { return int64(t.bits / 8) }
func (t integerType) Swap(b []byte) { swapEach(b, t.bits/8) }

// ParseFill reads all 64 bits exactly: a fill value never passes through a
// floating-point number.
func (t integerType) ParseFill(raw json.RawMessage) ([]byte, error) {
	var u uint64
	var err error
	if t.signed {
		var i int64
		i, err = strconv.ParseInt(string(raw), 10, t.bits)
		u = uint64(i)
	} else {
		u, err = strconv.ParseUint(string(raw), 10, t.bits)
	}
	if err != nil {
		return nil, badFill(raw, t.name)
	}
	return binary.LittleEndian.AppendUint64(nil, u)[:t.bits/8], nil
}
