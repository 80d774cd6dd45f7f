package blosc2

import (
	"encoding/binary"
	"strconv"
)

const (
	maxMetalayers   = 16
	maxVLMetalayers = 8192
	maxName         = 31
)

// Metalayer is a named value beside the data, as its bytes: MessagePack for
// all that python-blosc2 writes. Those of a header keep their length as long
// as the frame lives.
type Metalayer struct {
	Name  string
	Value []byte
}

// find returns the value of a name; ok is false if there is none.
func find(layers []Metalayer, name string) (value []byte, ok bool) {
	for _, m := range layers {
		if m.Name == name {
			return m.Value, true
		}
	}
	return nil, false
}

// ParseMetalayers reads the metalayers of a header (base 87) or of a trailer
// (base 2), whose whole bytes b are. Values are parts of b. ErrCorrupt for
// more than most and for what contradicts the format.
//
//	93 CD size(u16) DE n(u16) { A0+len name, D2 offset(i32) }*n DC n(u16) { C6 len(u32) value }*n
//
// Offsets are those of the C6, from the start of b. Nobody reads the size.
func ParseMetalayers(b []byte, base, most int) ([]Metalayer, error) {
	if len(b) < base+7 || b[base] != 0x93 || b[base+1] != 0xcd || b[base+4] != 0xde {
		return nil, corrupt(int64(base), "no metalayers where they are due")
	}
	count := int(binary.BigEndian.Uint16(b[base+5:]))
	if count > most {
		return nil, corrupt(int64(base+5), strconv.Itoa(count)+" metalayers")
	}
	at := base + 7
	var layers []Metalayer // grows with what is there
	seen := map[string]bool{}
	for range count {
		if at >= len(b) || b[at]&0xe0 != 0xa0 || len(b)-at < 1+int(b[at]&maxName)+5 {
			return nil, corrupt(int64(at), "a metalayer without a name")
		}
		n := int(b[at] & maxName)
		m := Metalayer{Name: string(b[at+1 : at+1+n])}
		at += 1 + n
		off := int64(int32(binary.BigEndian.Uint32(b[at+1:])))
		if b[at] != 0xd2 || off < int64(base) || off > int64(len(b)-5) || b[off] != 0xc6 {
			return nil, corrupt(int64(at), "metalayer "+strconv.Quote(m.Name)+" is not where it is said to be")
		}
		size := int64(binary.BigEndian.Uint32(b[off+1:]))
		if size > int64(len(b))-off-5 {
			return nil, corrupt(off, "metalayer "+strconv.Quote(m.Name)+" passes the end")
		}
		if seen[m.Name] {
			return nil, corrupt(int64(at), "metalayer "+strconv.Quote(m.Name)+" is there twice")
		}
		seen[m.Name] = true
		m.Value = b[off+5 : off+5+size : off+5+size]
		layers = append(layers, m)
		at += 5
	}
	if len(b)-at < 3 || b[at] != 0xdc || int(binary.BigEndian.Uint16(b[at+1:])) != count {
		return nil, corrupt(int64(at), "no values of metalayers")
	}
	return layers, nil
}

// lenOfMetalayers is how many bytes appendMetalayers appends.
func lenOfMetalayers(layers []Metalayer) int {
	n := 10
	for _, m := range layers {
		n += 1 + len(m.Name) + 5 + 5 + len(m.Value)
	}
	return n
}

// appendMetalayers is what ParseMetalayers reads, appended to b, which is all
// that comes before. counted is where the size counts from.
func appendMetalayers(b []byte, layers []Metalayer, counted int) []byte {
	base := len(b)
	b = append(b, 0x93, 0xcd, 0, 0, 0xde)
	b = binary.BigEndian.AppendUint16(b, uint16(len(layers)))
	offsets := make([]int, 0, maxMetalayers) // of a trailer there may be more
	for _, m := range layers {
		b = append(append(b, 0xa0|byte(len(m.Name))), m.Name...)
		offsets = append(offsets, len(b)+1)
		b = append(b, 0xd2, 0, 0, 0, 0)
	}
	binary.BigEndian.PutUint16(b[base+2:], uint16(len(b)-counted))
	b = binary.BigEndian.AppendUint16(append(b, 0xdc), uint16(len(layers)))
	for i, m := range layers {
		binary.BigEndian.PutUint32(b[offsets[i]:], uint32(len(b)))
		b = binary.BigEndian.AppendUint32(append(b, 0xc6), uint32(len(m.Value)))
		b = append(b, m.Value...)
	}
	return b
}
