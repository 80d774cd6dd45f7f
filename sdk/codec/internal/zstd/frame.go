package zstd

import (
	"encoding/binary"
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
)

var le = binary.LittleEndian

const (
	magic         = 0xfd2fb528
	skippable     = 0x184d2a50 // and the 15 after it
	maxBlock      = 128 << 10  // bytes that a block takes or gives
	kindRaw       = 0
	kindRLE       = 1
	kindFull      = 2
	kindRepeat    = 3
	maxWindowBits = 41
)

// decoder is what one decompression works with.
type decoder struct {
	dict     *Dictionary // nil: none
	code     *huffman    // of the literals before; nil: none
	huffman  huffman
	tables   [3]sequenceTable // by field: literals, offsets, matches
	repeat   [3]int           // the last offsets
	counts   distribution
	literals [maxBlock]byte
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// Decode decodes src to dst[at:] and returns where the content ends:
// ErrLimit if dst is too short, ErrCorrupt if src is damaged or wants a
// dictionary. What lies in dst behind the content may be overwritten. It may
// be called by any number of goroutines at once.
func Decode(dst []byte, at int, src []byte) (end int, err error) {
	return decode(nil, dst, at, src)
}

func decode(dict *Dictionary, dst []byte, at int, src []byte) (end int, err error) {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	d.dict, d.code = dict, nil
	for len(src) > 0 {
		if len(src) < 8 {
			return 0, corrupt("ends within the header of a frame")
		}
		m := le.Uint32(src)
		if m&^15 == skippable {
			n := uint64(le.Uint32(src[4:])) + 8
			if n > uint64(len(src)) {
				return 0, corrupt("ends within a skippable frame")
			}
			src = src[n:]
			continue
		}
		if m != magic {
			return 0, corrupt("not a frame")
		}
		if src, at, err = d.frame(dst, at, src[4:]); err != nil {
			return 0, err
		}
	}
	return at, nil
}

//go:noinline // it has many callers
func corrupt(why string) error { return fault.New(fault.ErrCorrupt, "zstd", "", why) }

// header is the header of a frame, behind the magic number.
type header struct {
	size     uint64 // of the content
	sized    bool
	checksum bool
	dict     uint32 // its number; 0: none
}

// parseHeader reads a header and returns what follows it.
func parseHeader(src []byte) (h header, rest []byte, err error) {
	flags := src[0]
	single := flags&0x20 != 0
	h.checksum = flags&4 != 0
	if flags&8 != 0 {
		return h, nil, corrupt("a reserved bit is set")
	}
	n := 1
	if !single {
		n++
	}
	ids := [4]int{0, 1, 2, 4}[flags&3]
	sizes := [4]int{0, 2, 4, 8}[flags>>6]
	if single && sizes == 0 {
		sizes = 1
	}
	if len(src) < n+ids+sizes {
		return h, nil, corrupt("ends within the header of a frame")
	}
	if !single && 10+src[1]>>3 > maxWindowBits {
		return h, nil, corrupt("an absurd window")
	}
	var field [8]byte
	copy(field[:], src[n:n+ids])
	h.dict, field = le.Uint32(field[:]), [8]byte{}
	copy(field[:], src[n+ids:n+ids+sizes])
	h.size, h.sized = le.Uint64(field[:]), sizes > 0
	if sizes == 2 {
		h.size += 256
	}
	return h, src[n+ids+sizes:], nil
}

// frame decodes one frame to dst[at:] and returns what follows it and where
// its content ends.
func (d *decoder) frame(dst []byte, at int, src []byte) ([]byte, int, error) {
	h, src, err := parseHeader(src)
	if err != nil {
		return nil, 0, err
	}
	from := at
	if h.sized && h.size > uint64(len(dst)-at) {
		return nil, 0, fault.ErrLimit
	}
	content, err := d.begin(h.dict)
	if err != nil {
		return nil, 0, err
	}
	for last := false; !last; {
		if len(src) < 3 {
			return nil, 0, corrupt("ends within the header of a block")
		}
		word := int(src[0]) | int(src[1])<<8 | int(src[2])<<16
		src = src[3:]
		last = word&1 != 0
		kind, n := word>>1&3, word>>3
		stored := n
		if kind == kindRLE {
			stored = 1
		}
		switch {
		case n > maxBlock || kind == kindRepeat:
			return nil, 0, corrupt("a block's header is damaged")
		case stored > len(src):
			return nil, 0, corrupt("ends within a block")
		case kind != kindFull && n > len(dst)-at:
			return nil, 0, fault.ErrLimit
		}
		switch kind {
		case kindRaw:
			at += copy(dst[at:], src[:n])
		case kindRLE:
			fill(dst[at:at+n], src[0])
			at += n
		case kindFull:
			if at, err = d.block(dst, from, at, src[:n], content); err != nil {
				return nil, 0, err
			}
		}
		src = src[stored:]
	}
	if h.sized && h.size != uint64(at-from) {
		return nil, 0, corrupt("the content is not as long as the header says")
	}
	if !h.checksum {
		return src, at, nil
	}
	if len(src) < 4 {
		return nil, 0, corrupt("ends within the checksum")
	}
	if le.Uint32(src) != uint32(xxh64(dst[from:at])) {
		return nil, 0, corrupt("the checksum is wrong")
	}
	return src[4:], at, nil
}

func fill(b []byte, c byte) {
	for i := range b {
		b[i] = c
	}
}

// begin forgets what is of the frame before, and returns the content of the
// dictionary.
func (d *decoder) begin(dict uint32) ([]byte, error) {
	d.repeat, d.code = [3]int{1, 4, 8}, nil
	for i := range d.tables {
		d.tables[i].cells = nil
	}
	if dict == 0 {
		return nil, nil
	}
	if d.dict == nil || d.dict.id != dict {
		return nil, corrupt("wants another dictionary")
	}
	d.repeat, d.code = d.dict.repeat, &d.dict.huffman
	for i := range d.tables {
		d.tables[i].log, d.tables[i].cells = d.dict.tables[i].log, d.dict.tables[i].cells
	}
	return d.dict.content, nil
}

// block decodes a compressed block; the frame's content began at from, after
// that of a dictionary.
func (d *decoder) block(dst []byte, from, at int, src, dict []byte) (int, error) {
	literals, src, err := d.parseLiterals(src)
	if err != nil {
		return 0, err
	}
	count, src, err := d.parseTables(src)
	if err != nil {
		return 0, err
	}
	if count > 0 {
		return d.sequences(dst, from, at, literals, src, count, dict)
	}
	if len(literals) > len(dst)-at {
		return 0, fault.ErrLimit
	}
	return at + copy(dst[at:], literals), nil
}
