package zstd

import "math/bits"

// sequence is some literals and a match after them.
type sequence struct {
	literals, match uint32 // bytes
	offset          uint32 // a distance and 3; 1 to 3: one of the last ones
	codes           [3]uint8
}

// The lengths up to which a table has their codes.
const (
	literalCodes = 64
	matchCodes   = 128
)

// lengthCodes are the codes of short lengths, by what they are above the
// least.
var lengthCodes = func() (t [3][matchCodes]uint8) {
	for _, f := range []int{literalLength, matchLength} {
		symbols := fields[f].symbols
		for i := range t[f] {
			for t[f][i]++; int(t[f][i]) < len(symbols) && int(symbols[t[f][i]].least-symbols[0].least) <= i; {
				t[f][i]++
			}
			t[f][i]--
		}
	}
	return t
}()

// code fills in the codes of a sequence.
func (s *sequence) code() {
	s.codes[offset] = uint8(bits.Len32(s.offset) - 1)
	if s.literals < literalCodes {
		s.codes[literalLength] = lengthCodes[literalLength][s.literals]
	} else {
		s.codes[literalLength] = uint8(bits.Len32(s.literals) + 18)
	}
	if n := s.match - minMatch; n < matchCodes {
		s.codes[matchLength] = lengthCodes[matchLength][n]
	} else {
		s.codes[matchLength] = uint8(bits.Len32(n) + 35)
	}
}

// The ways to tell a table.
const (
	modePredefined = 0
	modeRLE        = 1
	modePacked     = 2
)

// predefinedTables encode by the tables that are always there.
var predefinedTables = func() (t [3]fseTable) {
	for i := range t {
		t[i].build(&fields[i].defaults)
	}
	return t
}()

// sequenceCoder writes the sequences of a block.
type sequenceCoder struct {
	tables [3]fseTable
	dist   distribution
	room   []byte
}

// append appends the sequences. RFC 8878, 3.1.1.3.2.
func (c *sequenceCoder) append(dst []byte, seqs []sequence) []byte {
	switch n := len(seqs); {
	case n < 128:
		dst = append(dst, byte(n))
	case n < 0x7f00:
		dst = append(dst, byte(n>>8+128), byte(n))
	default:
		dst = append(dst, 255, byte(n-0x7f00), byte((n-0x7f00)>>8))
	}
	if len(seqs) == 0 {
		return dst
	}
	var counts [3][64]uint32
	for i := range seqs {
		s := &seqs[i]
		s.code()
		for f := range counts {
			counts[f][s.codes[f]&63]++
		}
	}
	modes := len(dst)
	dst = append(dst, 0)
	var tables [3]*fseTable
	for _, f := range [3]int{literalLength, offset, matchLength} {
		var mode byte
		dst, mode = c.choose(dst, f, &counts[f], len(seqs), &tables[f])
		dst[modes] |= mode << (6 - 2*f)
	}
	if need := 16*len(seqs) + 32; len(c.room) < need { // three states and three values
		c.room = make([]byte, need)
	}
	return append(dst, c.room[:writeSequences(c.room, seqs, &tables)]...)
}

// choose picks how the codes of a field are written, and appends the table if
// that is needed; *table nil: there is one code only.
func (c *sequenceCoder) choose(dst []byte, f int, counts *[64]uint32, n int, table **fseTable) ([]byte, byte) {
	last, kinds := 0, 0
	for s, k := range counts {
		if k > 0 {
			last = s
			kinds++
		}
	}
	plain := costOf(counts, &fields[f].defaults)
	if kinds == 1 && (n > 2 || plain < 0) {
		*table = nil
		return append(dst, byte(last)), modeRLE
	}
	*table = &predefinedTables[f]
	if plain >= 0 && (kinds == 1 || plain < 24<<8) { // a table takes about as much
		return dst, modePredefined
	}
	c.dist.normalize(counts[:last+1], n, tableLog(n, last, fields[f].maxLog))
	head := len(dst)
	dst = c.dist.append(dst)
	if plain >= 0 && plain <= costOf(counts, &c.dist)+(len(dst)-head)*8<<8 {
		return dst[:head], modePredefined
	}
	*table = &c.tables[f]
	c.tables[f].build(&c.dist)
	return dst, modePacked
}

// costOf is how many 256ths of a bit what is counted takes by a distribution;
// -1: it lacks one of them.
func costOf(counts *[64]uint32, d *distribution) int {
	cost := 0
	for s, k := range counts {
		if k == 0 {
			continue
		}
		if s >= d.n || d.counts[s] == 0 {
			return -1
		}
		cost += int(k) * (d.log<<8 - log2(uint32(max(d.counts[s], 1))))
	}
	return cost
}

// farCode is the largest code of an offset whose value is written together
// with both lengths. Those have up to 31 bits together, as they are no more
// than the block has.
const farCode = 25

// oneState is a table that takes no bits.
var oneState fseTable

// writeSequences writes the states and values of sequences to room and
// returns how many bytes that takes. A table that is nil has one state.
func writeSequences(room []byte, seqs []sequence, tables *[3]*fseTable) int {
	var states [3]uint32
	for f, t := range tables {
		if t == nil {
			tables[f] = &oneState
		} else {
			states[f] = t.begin(seqs[len(seqs)-1].codes[f])
		}
	}
	a, b, c := tables[literalLength], tables[offset], tables[matchLength]
	atA, atB, atC := states[literalLength], states[offset], states[matchLength]
	// What backward and put do, in registers.
	var acc uint64
	var fill uint
	at := 0
	for i := len(seqs) - 1; ; {
		s := &seqs[i]
		l, m := &lengthSymbols[literalLength][s.codes[literalLength]&63], &lengthSymbols[matchLength][s.codes[matchLength]&63]
		acc |= uint64(s.literals-l.least) << (fill & 63)
		fill += uint(l.width)
		acc |= uint64(s.match-m.least) << (fill & 63)
		fill += uint(m.width)
		code := s.codes[offset] & 63
		if code > farCode {
			le.PutUint64(room[at:], acc)
			at += int(fill >> 3)
			acc >>= fill & 56
			fill &= 7
		}
		acc |= (uint64(s.offset) & (1<<code - 1)) << (fill & 63)
		fill += uint(code)
		le.PutUint64(room[at:], acc)
		at += int(fill >> 3)
		acc >>= fill & 56
		fill &= 7
		if i--; i < 0 {
			break
		}
		s = &seqs[i]
		t := b.symbols[s.codes[offset]]
		n := (atB + t.width) >> 16 & 31
		acc |= uint64(atB&(1<<n-1)) << (fill & 63)
		fill += uint(n)
		atB = uint32(b.next[int32(atB>>n)+t.find])
		t = c.symbols[s.codes[matchLength]]
		n = (atC + t.width) >> 16 & 31
		acc |= uint64(atC&(1<<n-1)) << (fill & 63)
		fill += uint(n)
		atC = uint32(c.next[int32(atC>>n)+t.find])
		t = a.symbols[s.codes[literalLength]]
		n = (atA + t.width) >> 16 & 31
		acc |= uint64(atA&(1<<n-1)) << (fill & 63)
		fill += uint(n)
		atA = uint32(a.next[int32(atA>>n)+t.find])
		le.PutUint64(room[at:], acc)
		at += int(fill >> 3)
		acc >>= fill & 56
		fill &= 7
	}
	w := backward{room, at, acc, fill}
	c.end(&w, atC)
	b.end(&w, atB)
	a.end(&w, atA)
	return w.end()
}

// lengthSymbols are the symbols of both lengths.
var lengthSymbols = func() (t [3][64]symbol) {
	for f := range t {
		copy(t[f][:], fields[f].symbols)
	}
	return t
}()
