package codec

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/adler32"
	"hash/crc32"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

const (
	front = "start"
	back  = "end"
)

// checksum is four bytes, little endian, before or after what they sum up.
type checksum struct {
	named
	front bool
	sum   func([]byte) uint32
}

// newChecksum makes a checksum that lies where configuration.location says,
// or else at location.
func newChecksum(n named, configuration json.RawMessage, location string, sum func([]byte) uint32) (Bytes, error) {
	c := rawjson.MembersOf(configuration)
	location = c.String("location", location)
	if err := n.configured(c); err != nil {
		return nil, err
	}
	if location != front && location != back {
		return nil, n.invalid("location", location+` is neither "start" nor "end"`)
	}
	return checksum{n, location == front, sum}, nil
}

func (c checksum) Decode(_ context.Context, _, src []byte, limit int) ([]byte, error) {
	n := len(src) - 4
	if n < 0 {
		return nil, c.corrupt("too short for a checksum")
	}
	if n > limit {
		return nil, block.OverLimit(c.Name(), limit)
	}
	stored, data := src[n:], src[:n:n]
	if c.front {
		stored, data = src[:4], src[4:]
	}
	if c.sum(data) != binary.LittleEndian.Uint32(stored) {
		return nil, c.corrupt("checksum does not match")
	}
	return data, nil
}

func (c checksum) Encode(dst, src []byte) ([]byte, error) {
	sum := c.sum(src)
	if c.front {
		return append(binary.LittleEndian.AppendUint32(dst, sum), src...), nil
	}
	return binary.LittleEndian.AppendUint32(append(dst, src...), sum), nil
}

func (checksum) EncodedSize(n int64) (int64, bool) { return n + 4, true }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// crcCastagnoli is CRC-32C (RFC 3720, appendix B.4).
func crcCastagnoli(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// crcIEEE is CRC-32 as in zlib.
func crcIEEE(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

// adler is Adler-32 (RFC 1950).
func adler(b []byte) uint32 { return adler32.Checksum(b) }

// fletcher32 is the checksum of HDF5: it sums 16-bit words, big endian, modulo
// 65535, where a sum that is not nothing is never 0. A last odd byte is the
// high half of a word.
func fletcher32(b []byte) uint32 {
	// So many sums of 16-bit words do not overflow 64 bits.
	const run = 1 << 16
	var low, high uint64
	for len(b) >= 2 {
		words := b[:min(len(b)&^1, 2*run)]
		b = b[len(words):]
		for ; len(words) >= 2; words = words[2:] {
			low += uint64(binary.BigEndian.Uint16(words))
			high += low
		}
		low, high = fold(low), fold(high)
	}
	if len(b) == 1 {
		low = fold(low + uint64(b[0])<<8)
		high = fold(high + low)
	}
	return uint32(high<<16 | low)
}

// fold is n modulo 65535, with 65535 for a multiple of it that is not 0.
func fold(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	return (n-1)%0xffff + 1
}
