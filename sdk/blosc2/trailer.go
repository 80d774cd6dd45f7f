package blosc2

import (
	"encoding/binary"
	"strconv"
)

const (
	trailerBase  = 2  // of its metalayers
	trailerTail  = 23 // from the length to the end
	trailerLeast = 25
)

// ParseTrailerLen reads how long a trailer is from the last bytes of a frame,
// at least 25 of them.
func ParseTrailerLen(tail []byte) (int64, error) {
	at := len(tail) - trailerTail
	if len(tail) < trailerLeast || tail[at] != 0xce {
		return 0, corrupt(-1, "no trailer at the end")
	}
	n := int64(binary.BigEndian.Uint32(tail[at+1:]))
	if n < trailerLeast {
		return 0, corrupt(-1, "a trailer of "+strconv.FormatInt(n, 10)+" bytes")
	}
	return n, nil
}

// ParseTrailer reads a whole trailer: the variable-length metalayers, whose
// values are Blosc2 chunks and parts of b.
//
//	94 01 METALAYERS CE len(u32) D8 00 fingerprint(16)
func ParseTrailer(b []byte) ([]Metalayer, error) {
	n, err := ParseTrailerLen(b)
	switch {
	case err != nil:
		return nil, err
	case n > int64(len(b)) || b[0] != 0x94 || b[1] != 0x01:
		return nil, corrupt(-1, "no trailer where it is due")
	}
	return ParseMetalayers(b, trailerBase, maxVLMetalayers)
}

// trailer is what ParseTrailer reads.
func trailer(layers []Metalayer) []byte {
	b := append(make([]byte, 0, trailerLeast+lenOfMetalayers(layers)), 0x94, 0x01)
	b = appendMetalayers(b, layers, trailerBase+1)
	b = binary.BigEndian.AppendUint32(append(b, 0xce), uint32(len(b)+trailerTail))
	return append(append(b, 0xd8, 0x00), fingerprint(layers)...)
}
