package codec

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/bits"

	"github.com/gridhold/gridhold/sdk/rawjson"
)

// newJenkins makes the checksum of HDF5's metadata: four bytes at the end,
// seeded with initval, over prefix and data.
func newJenkins(n named, configuration json.RawMessage) (Bytes, error) {
	c := rawjson.MembersOf(configuration)
	initval, prefix := uint32(c.Int("initval", 0, math.MaxUint32, 0)), c.String("prefix", "")
	if err := n.configured(c); err != nil {
		return nil, err
	}
	return checksum{named: n, sum: func(b []byte) uint32 {
		if prefix != "" {
			b = append([]byte(prefix), b...)
		}
		return lookup3(b, initval)
	}}, nil
}

// lookup3 is Bob Jenkins' hash of that name, of bytes, with one result:
// http://burtleburtle.net/bob/c/lookup3.c (hashlittle).
func lookup3(data []byte, seed uint32) uint32 {
	a := 0xdeadbeef + uint32(len(data)) + seed
	b, c := a, a
	if len(data) == 0 {
		return c
	}
	for len(data) > 12 {
		a += binary.LittleEndian.Uint32(data)
		b += binary.LittleEndian.Uint32(data[4:])
		c += binary.LittleEndian.Uint32(data[8:])
		data = data[12:]
		a = (a - c) ^ bits.RotateLeft32(c, 4)
		c += b
		b = (b - a) ^ bits.RotateLeft32(a, 6)
		a += c
		c = (c - b) ^ bits.RotateLeft32(b, 8)
		b += a
		a = (a - c) ^ bits.RotateLeft32(c, 16)
		c += b
		b = (b - a) ^ bits.RotateLeft32(a, 19)
		a += c
		c = (c - b) ^ bits.RotateLeft32(b, 4)
		b += a
	}
	var last [12]byte // what is missing counts as zeros
	copy(last[:], data)
	a += binary.LittleEndian.Uint32(last[:])
	b += binary.LittleEndian.Uint32(last[4:])
	c += binary.LittleEndian.Uint32(last[8:])
	c = (c ^ b) - bits.RotateLeft32(b, 14)
	a = (a ^ c) - bits.RotateLeft32(c, 11)
	b = (b ^ a) - bits.RotateLeft32(a, 25)
	c = (c ^ b) - bits.RotateLeft32(b, 16)
	a = (a ^ c) - bits.RotateLeft32(c, 4)
	b = (b ^ a) - bits.RotateLeft32(a, 14)
	return (c ^ b) - bits.RotateLeft32(b, 24)
}
