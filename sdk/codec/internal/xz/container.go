package xz

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"hash/crc64"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
	"github.com/gridhold/gridhold/sdk/fault"
)

var (
	le         = binary.LittleEndian
	magic      = []byte{0xfd, '7', 'z', 'X', 'Z', 0}
	ecma       = crc64.MakeTable(crc64.ECMA)
	checkSizes = [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}
)

const (
	filterLZMA2 = 0x21
	filterDelta = 0x03
)

// IsContainer reports whether src begins as an xz file.
func IsContainer(src []byte) bool { return bytes.HasPrefix(src, magic) }

// Append appends the decoding of an xz file to dst: all its streams, with
// their checks verified. Filters other than LZMA2 and delta are
// ErrUnsupported.
func Append(dst, src []byte, limit int) ([]byte, error) {
	return withDecoder(func(d *lzma) ([]byte, error) {
		out := block.Room(dst, limit)
		end := len(out) + limit
		for first := true; first || len(src) > 0; first = false {
			s := stream{lzma: d, src: src, limit: limit}
			var err error
			if out, err = s.append(out, end); err != nil {
				return nil, err
			}
			src = src[s.at:]
			for len(src) >= 4 && le.Uint32(src) == 0 { // padding between streams
				src = src[4:]
			}
		}
		return out, nil
	})
}

// stream reads one stream of an xz file.
type stream struct {
	*lzma
	src   []byte
	at    int
	limit int // of all streams, for the error's text
	check byte
}

// take returns the next n bytes, nil if there are fewer.
func (s *stream) take(n int) []byte {
	if n < 0 || n > len(s.src)-s.at {
		return nil
	}
	s.at += n
	return s.src[s.at-n : s.at]
}

// record is what the index says of a block.
type record struct{ packed, size uint64 }

func (s *stream) append(out []byte, end int) ([]byte, error) {
	h := s.take(12)
	if h == nil || !IsContainer(h) || crc32.ChecksumIEEE(h[6:8]) != le.Uint32(h[8:]) {
		return nil, corrupt("the stream's header is damaged")
	}
	if h[6] != 0 || h[7] > 15 {
		return nil, fault.New(fault.ErrUnsupported, "lzma", "", "the stream's flags are of a later version")
	}
	s.check = h[7]
	var blocks []record
	for {
		if s.at >= len(s.src) {
			return nil, corrupt("ends without an index")
		}
		if s.src[s.at] == 0 {
			return out, s.index(blocks)
		}
		from, before := s.at, len(out)
		var err error
		if out, err = s.block(out, end); err != nil {
			return nil, err
		}
		blocks = append(blocks, record{uint64(s.at - from), uint64(len(out) - before)})
		for s.at%4 != 0 { // streams begin at multiples of four
			if b := s.take(1); b == nil || b[0] != 0 {
				return nil, corrupt("a block's padding is damaged")
			}
		}
		if err := s.verify(out[before:], &blocks[len(blocks)-1]); err != nil {
			return nil, err
		}
	}
}

// block decodes one block, without padding and check.
func (s *stream) block(out []byte, end int) ([]byte, error) {
	size := (int(s.src[s.at]) + 1) * 4
	h := s.take(size)
	if h == nil || crc32.ChecksumIEEE(h[:size-4]) != le.Uint32(h[size-4:]) {
		return nil, corrupt("a block's header is damaged")
	}
	b, err := parseBlock(h[1 : size-4])
	if err != nil {
		return nil, err
	}
	before := len(out)
	out, taken, err := s.chunks(out, s.src[s.at:], end-before)
	if err != nil {
		return nil, err
	}
	s.at += taken
	if b.packed >= 0 && b.packed != int64(taken) || b.size >= 0 && b.size != int64(len(out)-before) {
		return nil, corrupt("a block's sizes do not match its header")
	}
	UndoDelta(out[before:], b.delta)
	return out, nil
}

// blockHeader is what a block states about itself; sizes are -1 if absent.
type blockHeader struct {
	packed, size int64
	delta        int // distance of the delta filter; 0: there is none
}

func parseBlock(h []byte) (blockHeader, error) {
	b := blockHeader{packed: -1, size: -1}
	damaged := corrupt("a block's header is damaged")
	flags := h[0]
	h = h[1:]
	number := func() int64 {
		v, n := binary.Uvarint(h)
		if n <= 0 || v > 1<<63-1 {
			h = nil
			return -1
		}
		h = h[n:]
		return int64(v)
	}
	if flags&0x3c != 0 {
		return b, fault.New(fault.ErrUnsupported, "lzma", "", "a block's flags are of a later version")
	}
	if flags&0x40 != 0 {
		if b.packed = number(); b.packed < 0 {
			return b, damaged
		}
	}
	if flags&0x80 != 0 {
		if b.size = number(); b.size < 0 {
			return b, damaged
		}
	}
	filters := int(flags&3) + 1
	for i := range filters {
		id, n := number(), number()
		if n < 0 || n > int64(len(h)) {
			return b, damaged
		}
		switch last := i == filters-1; {
		case id == filterLZMA2 && last && n == 1:
		case id == filterDelta && !last && n == 1 && b.delta == 0:
			b.delta = int(h[0]) + 1
		default:
			return b, fault.New(fault.ErrUnsupported, "lzma", "", "a filter that is neither LZMA2 nor one delta before it")
		}
		h = h[n:]
	}
	for _, c := range h {
		if c != 0 {
			return b, damaged
		}
	}
	return b, nil
}

// UndoDelta undoes the filter that stored each byte as the difference to the
// one distance before it. 0: there is none.
func UndoDelta(b []byte, distance int) {
	if distance == 0 {
		return
	}
	for i := distance; i < len(b); i++ {
		b[i] += b[i-distance]
	}
}

// verify compares the check that follows a block, and adds it to r's size.
// Checks of kinds that have no name are passed over, as xz does.
func (s *stream) verify(decoded []byte, r *record) error {
	want := s.take(checkSizes[s.check])
	if want == nil && s.check != 0 {
		return corrupt("ends within a check")
	}
	r.packed += uint64(len(want))
	ok := true
	switch s.check {
	case 1:
		ok = crc32.ChecksumIEEE(decoded) == le.Uint32(want)
	case 4:
		ok = crc64.Checksum(decoded, ecma) == le.Uint64(want)
	case 10:
		sum := sha256(decoded)
		ok = bytes.Equal(sum[:], want)
	}
	if !ok {
		return corrupt("checksum does not match")
	}
	return nil
}

// index compares the index and the footer with what was read.
func (s *stream) index(blocks []record) error {
	damaged := corrupt("the index is damaged")
	from := s.at
	s.at++ // the zero that a block can not begin with
	number := func() uint64 {
		v, n := binary.Uvarint(s.src[s.at:])
		s.at += max(n, 0)
		return v
	}
	if number() != uint64(len(blocks)) {
		return damaged
	}
	for _, b := range blocks {
		if number() != b.packed || number() != b.size {
			return damaged
		}
	}
	for s.at%4 != 0 {
		if b := s.take(1); b == nil || b[0] != 0 {
			return damaged
		}
	}
	sum := crc32.ChecksumIEEE(s.src[from:s.at])
	if want := s.take(4); want == nil || le.Uint32(want) != sum {
		return damaged
	}
	size := s.at - from
	f := s.take(12)
	if f == nil || le.Uint32(f) != crc32.ChecksumIEEE(f[4:10]) || (int(le.Uint32(f[4:]))+1)*4 != size ||
		f[8] != 0 || f[9] != s.check || f[10] != 'Y' || f[11] != 'Z' {
		return corrupt("the stream's footer is damaged")
	}
	return nil
}
