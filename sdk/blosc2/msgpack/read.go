package msgpack

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

const (
	maxDepth  = 128     // lists and maps within each other
	maxValues = 1 << 22 // of one Decode: what they take in memory is many times their bytes
)

// Decode reads the one value that b holds. ErrCorrupt if b is damaged, ends
// early or goes on after the value; ErrLimit if the value nests deeper than
// 128 or consists of more than 4 Mi values. The result shares no memory with
// b.
func Decode(b []byte) (any, error) {
	r := reader{b: b}
	v := r.value(0)
	if r.err == nil && r.at < len(b) {
		r.fail(fault.ErrCorrupt, "bytes after the value")
	}
	if r.err != nil {
		return nil, r.err
	}
	return v, nil
}

type reader struct {
	b      []byte
	at     int
	values int
	err    error // the first one; all that is read afterwards is zero
}

func (r *reader) fail(kind error, why string) {
	if r.err == nil {
		r.err = fault.At(kind, "msgpack", "", int64(r.at), why)
	}
}

// take returns the next n bytes, nil where there are fewer.
func (r *reader) take(n uint64) []byte {
	if r.err != nil || n > uint64(len(r.b)-r.at) {
		r.fail(fault.ErrCorrupt, "ends within a value")
		return nil
	}
	part := r.b[r.at : r.at+int(n)]
	r.at += int(n)
	return part
}

// number reads n bytes, big endian.
func (r *reader) number(n int) uint64 {
	var wide [8]byte
	copy(wide[8-n:], r.take(uint64(n)))
	return binary.BigEndian.Uint64(wide[:])
}

func (r *reader) value(depth int) any {
	if r.values++; depth > maxDepth || r.values > maxValues {
		r.fail(fault.ErrLimit, "too deep or too many values")
	}
	c := byte(r.number(1))
	if r.err != nil {
		return nil
	}
	switch {
	case c < 0x80:
		return int64(c)
	case c < 0x90:
		return r.dict(uint64(c&15), depth)
	case c < 0xa0:
		return r.list(uint64(c&15), depth)
	case c < 0xc0:
		return string(r.take(uint64(c & 31)))
	case c >= 0xe0:
		return int64(int8(c))
	}
	switch c {
	case 0xc0:
		return nil
	case 0xc2, 0xc3:
		return c == 0xc3
	case 0xc4, 0xc5, 0xc6:
		return append([]byte{}, r.take(r.number(1<<(c-0xc4)))...)
	case 0xc7, 0xc8, 0xc9:
		return r.ext(r.number(1 << (c - 0xc7)))
	case 0xca:
		return float64(math.Float32frombits(uint32(r.number(4))))
	case 0xcb:
		return math.Float64frombits(r.number(8))
	case 0xcc, 0xcd, 0xce, 0xcf:
		n := r.number(1 << (c - 0xcc))
		if n > math.MaxInt64 {
			return n
		}
		return int64(n)
	case 0xd0:
		return int64(int8(r.number(1)))
	case 0xd1:
		return int64(int16(r.number(2)))
	case 0xd2:
		return int64(int32(r.number(4)))
	case 0xd3:
		return int64(r.number(8))
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return r.ext(1 << (c - 0xd4))
	case 0xd9, 0xda, 0xdb:
		return string(r.take(r.number(1 << (c - 0xd9))))
	case 0xdc, 0xdd:
		return r.list(r.number(2<<(c-0xdc)), depth)
	case 0xde, 0xdf:
		return r.dict(r.number(2<<(c-0xde)), depth)
	}
	r.fail(fault.ErrCorrupt, "a byte that means nothing: "+strconv.Itoa(int(c)))
	return nil
}

// list grows with what is there, whatever count says.
func (r *reader) list(count uint64, depth int) []any {
	list := []any{}
	for ; count > 0 && r.err == nil; count-- {
		list = append(list, r.value(depth+1))
	}
	return list
}

func (r *reader) dict(count uint64, depth int) Map {
	m := Map{}
	for ; count > 0 && r.err == nil; count-- {
		key := r.value(depth + 1)
		m = append(m, Entry{key, r.value(depth + 1)})
	}
	return m
}

func (r *reader) ext(n uint64) Ext {
	kind := int8(r.number(1))
	return Ext{kind, append([]byte{}, r.take(n)...)}
}
