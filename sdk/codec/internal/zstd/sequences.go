package zstd

import (
	"github.com/gridhold/gridhold/sdk/codec/internal/lz"
	"github.com/gridhold/gridhold/sdk/fault"
)

// The three numbers of a sequence.
const (
	literalLength = 0
	offset        = 1
	matchLength   = 2
)

// cell is a state of a sequence's table: from the low end the width of the
// next state (8 bits), that of the value (8), the next state (16) and the
// least value (32).
type cell uint64

func (c cell) width() int      { return int(c & 63) }
func (c cell) valueWidth() int { return int(c >> 8 & 63) }
func (c cell) next() int       { return int(c >> 16 & 0xffff) }
func (c cell) least() int      { return int(c >> 32) }

// sequenceTable is a table of 1<<log cells; nil: there is none.
type sequenceTable struct {
	log   int
	cells *[1 << maxTableBits]cell
	own   [1 << maxTableBits]cell // what cells points to, but for predefined ones
}

// symbol is what a symbol stands for: the least value and how many bits are
// added to it.
type symbol struct {
	least uint32
	width uint8
}

// field is what is special to each of the three numbers.
type field struct {
	maxLog     int
	symbols    []symbol
	defaults   distribution
	predefined sequenceTable // of the defaults
}

var fields = [3]*field{
	literalLength: newField(9, 16, []uint8{1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, 0, 6,
		4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1),
	offset: newField(8, 0, nil, 0, 5,
		1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1),
	matchLength: newField(9, 32, []uint8{1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, 3, 6,
		1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1),
}

// newField makes the symbols of a field: plain ones that stand for
// themselves, counted from first, then those of some widths; offsets (none of
// both) are powers of two. RFC 8878, 3.1.1.3.2.1.1.
func newField(maxLog, plain int, widths []uint8, first uint32, log int, counts ...int16) *field {
	f := &field{maxLog: maxLog}
	for i := range plain {
		f.symbols = append(f.symbols, symbol{first + uint32(i), 0})
	}
	least := first + uint32(plain)
	for _, w := range widths {
		f.symbols = append(f.symbols, symbol{least, w})
		least += 1 << w
	}
	if widths == nil {
		for w := range 32 {
			f.symbols = append(f.symbols, symbol{1 << w, uint8(w)})
		}
	}
	f.defaults.n, f.defaults.log = len(counts), log
	copy(f.defaults.counts[:], counts)
	f.predefined.build(f, &f.defaults)
	return f
}

func (t *sequenceTable) build(f *field, d *distribution) bool {
	var states [1 << maxTableBits]state
	t.cells = nil
	if !d.spread(states[:]) {
		return false
	}
	for i, s := range states[:1<<d.log] {
		v := f.symbols[s.symbol]
		t.own[i] = cell(s.width) | cell(v.width)<<8 | cell(s.next)<<16 | cell(v.least)<<32
	}
	t.log, t.cells = d.log, &t.own
	return true
}

// parseTables reads how many sequences a block has and by which tables, and
// returns the bits that follow. RFC 8878, 3.1.1.3.2.1.
func (d *decoder) parseTables(src []byte) (count int, rest []byte, err error) {
	short := corrupt("sequences are damaged")
	if len(src) == 0 {
		return 0, nil, short
	}
	count, src = int(src[0]), src[1:]
	switch {
	case count == 255:
		if len(src) < 2 {
			return 0, nil, short
		}
		count, src = int(le.Uint16(src))+0x7f00, src[2:]
	case count >= 128:
		if len(src) < 1 {
			return 0, nil, short
		}
		count, src = (count-128)<<8+int(src[0]), src[1:]
	}
	if count == 0 {
		if len(src) > 0 {
			return 0, nil, short
		}
		return 0, src, nil
	}
	if len(src) == 0 || src[0]&3 != 0 {
		return 0, nil, short
	}
	modes := int(src[0])
	src = src[1:]
	for i, f := range fields {
		t := &d.tables[i]
		switch modes >> (6 - 2*i) & 3 {
		case kindRaw:
			t.log, t.cells = f.predefined.log, f.predefined.cells
		case kindRLE:
			if len(src) == 0 || int(src[0]) >= len(f.symbols) {
				return 0, nil, short
			}
			v := f.symbols[src[0]]
			t.own[0] = cell(v.width)<<8 | cell(v.least)<<32
			t.log, t.cells = 0, &t.own
			src = src[1:]
		case kindFull:
			if src, err = d.counts.parse(src, len(f.symbols)-1, f.maxLog); err != nil {
				return 0, nil, err
			}
			if !t.build(f, &d.counts) {
				return 0, nil, short
			}
		case kindRepeat:
			if t.cells == nil {
				return 0, nil, short
			}
		}
	}
	return count, src, nil
}

// sequences carries out count sequences and copies the literals that are
// left.
func (d *decoder) sequences(dst []byte, from, at int, literals, src []byte, count int, dict []byte) (int, error) {
	p := start(src)
	if p < 0 {
		return 0, corrupt("sequences are damaged")
	}
	limit := at + maxBlock
	lengths, offsets, matches := d.tables[literalLength].cells, d.tables[offset].cells, d.tables[matchLength].cells
	const mask = len(lengths) - 1
	var s [3]int
	for i := range s { // literals, offsets, matches
		s[i] = top(load(src, p), d.tables[i].log)
		p -= d.tables[i].log
	}
	l, o, m := lengths[s[0]&mask], offsets[s[1]&mask], matches[s[2]&mask]
	repeat := d.repeat
	for ; count > 0; count-- {
		acc := load(src, p)
		values := o.valueWidth() + m.valueWidth() + l.valueWidth()
		used := o.valueWidth()
		distance := o.least() + top(acc, used)
		acc <<= used & 63
		if values > loaded { // rare: more than one load holds
			acc = load(src, p-used)
		}
		match := m.least() + top(acc, m.valueWidth())
		acc <<= m.valueWidth() & 63
		run := l.least() + top(acc, l.valueWidth())
		acc <<= l.valueWidth() & 63
		p -= values

		if uint(distance) > 3 { // of 32 bits, where int has no more
			distance -= 3
			repeat[2], repeat[1], repeat[0] = repeat[1], repeat[0], distance
		} else {
			if run > 0 {
				distance--
			}
			switch distance {
			case 0:
				distance = repeat[0]
			case 1:
				distance = repeat[1]
				repeat[1], repeat[0] = repeat[0], distance
			default:
				if distance == 2 {
					distance = repeat[2]
				} else {
					distance = repeat[0] - 1
				}
				repeat[2], repeat[1], repeat[0] = repeat[1], repeat[0], distance
			}
		}

		if count > 1 {
			widths := l.width() + m.width() + o.width()
			if values+widths > loaded {
				acc = load(src, p)
			}
			next := l.next() + top(acc, l.width())
			acc <<= l.width() & 63
			l = lengths[next&mask]
			next = m.next() + top(acc, m.width())
			acc <<= m.width() & 63
			m = matches[next&mask]
			o = offsets[(o.next()+top(acc, o.width()))&mask]
			p -= widths
		}
		if p < 0 {
			return 0, corrupt("sequences are damaged")
		}

		if run > len(literals) {
			return 0, corrupt("a sequence has more literals than there are")
		}
		if run+match > len(dst)-at {
			return 0, fault.ErrLimit
		}
		if run <= lz.Wide && len(literals) >= lz.Wide && len(dst)-at >= lz.Wide { // what is too much is overwritten next
			lz.Copy16(dst[at:], literals)
		} else {
			copy(dst[at:], literals[:run])
		}
		literals = literals[run:]
		at += run
		if before := distance - (at - from); before > 0 { // begins in the dictionary
			if before > len(dict) {
				return 0, corrupt("a match begins before the content")
			}
			n := min(before, match)
			copy(dst[at:], dict[len(dict)-before:][:n])
			at += n
			if match -= n; match == 0 {
				continue
			}
		} else if distance <= 0 {
			return 0, corrupt("a match of the distance 0")
		}
		if match <= lz.Wide && distance >= lz.Wide && len(dst)-at >= lz.Wide {
			lz.Copy16(dst[at:], dst[at-distance:])
		} else {
			lz.Repeat(dst, at, distance, match)
		}
		at += match
	}
	if p != 0 {
		return 0, corrupt("sequences are damaged")
	}
	if len(literals) > len(dst)-at {
		return 0, fault.ErrLimit
	}
	at += copy(dst[at:], literals)
	if at > limit {
		return 0, corrupt("a block is too large")
	}
	d.repeat = repeat
	return at, nil
}
