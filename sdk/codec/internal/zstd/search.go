package zstd

import (
	"math/bits"

	"github.com/gridhold/gridhold/sdk/codec/internal/lz"
)

const (
	fastBits  = 15        // of hashes in a fast search, at most
	headBits  = 16        // and at others, at most
	chainBits = 17        // of positions in the chains
	chainFar  = 1<<16 - 1 // between two of a chain
	tail      = 8         // bytes at the end in which no match begins
	enough    = 4         // bytes that a match has at least
	burst     = 8
	leapAfter = 64      // bytes without a match
	leapShare = 8       // of what had none, one in so many bytes is left out next
	noisy     = 120     // 16ths of a bit that a byte takes where hardly anything matches
	manyBytes = 112     // the same where nearly all bytes come, as often as others
	mostPays  = 20      // bytes of a match that a fast search takes for granted, at most
	stretch   = 2 << 10 // bytes after which a fast search looks at what it saved
	little    = 8       // one in so many bits
	shortRun  = 64
	recent    = 4 << 10 // bytes of blocks with few matches that a thorough search after them enters

	// What a sequence takes in 16ths of a bit, but for its distance; one with
	// the last distance; and by how much a later match has to be better.
	sequenceCost = 10 << 4
	repeatCost   = 5 << 4
	laterCost    = 1 << 3
	nearCost     = 6 << 4 // a distance, at least
)

// searcher finds matches.
type searcher struct {
	src    []byte
	level  int
	base   int                  // of positions in the tables: what is below is of earlier inputs
	seen   [1 << fastBits]int32 // positions by hash, for a fast search
	heads  []int32              // positions by hash
	before []uint16             // by position, how far it is to the one before with the same hash; 0: too far
	next   int                  // first position that is not in the chains
	shift  int                  // of hashes there
	worth  int                  // 16ths of a bit that a byte takes as a literal
	saved  int                  // of the block, by matches
	parser *parser              // nil: not needed yet

	repeat   [3]int // the last distances
	literals []byte // of the block
	seqs     []sequence
}

// begin prepares for an input.
func (s *searcher) begin(src []byte, level int) {
	e := &efforts[level]
	if e.tries > 0 && s.heads == nil {
		s.heads, s.before = make([]int32, 1<<headBits), make([]uint16, 1<<chainBits)
	}
	if e.again > 0 && s.parser == nil {
		s.parser = new(parser)
	}
	if s.literals == nil {
		s.literals = make([]byte, 0, maxBlock+lz.Wide)
	}
	if s.base == 0 || s.base+len(src) > 1<<30 {
		clear(s.seen[:])
		clear(s.heads)
		if s.parser != nil {
			clear(s.parser.three[:])
		}
		s.base = 1
	}
	s.shift = 32 - e.heads
	s.src, s.level, s.next, s.repeat = src, level, 0, [3]int{1, 4, 8}
}

// end forgets the input.
func (s *searcher) end() {
	s.base += len(s.src)
	s.src = nil
}

// block divides src[from:to] into literals and sequences. Without a sequence
// the literals are all of it, and are not copied.
func (s *searcher) block(from, to int) {
	e := &efforts[s.level]
	s.worth = worth(s.src[from:to])
	before := s.repeat
	s.start()
	at := s.fast(from, to, &e.quick)
	switch all := (to - from) * s.worth; {
	case e.again > 0 && (s.saved > 0 || !noise(s.src[from:to])):
		s.anew(from, before)
		at = s.weighed(from, to, e)
	case s.saved*e.least > all || e.short && s.worth >= manyBytes && smooth(s.src[from:to]):
		if s.saved*16 > all*e.half {
			e = &efforts[e.rich]
		}
		if e.tries > 0 {
			s.anew(from, before)
			at = s.thorough(from, to, e)
		}
	}
	if len(s.seqs) > 0 {
		s.finish(at, to)
	}
}

func (s *searcher) start() { s.literals, s.seqs, s.saved = s.literals[:0], s.seqs[:0], 0 }

// anew prepares for another search of the block from from on, before which the
// last distances were these.
func (s *searcher) anew(from int, before [3]int) {
	s.start()
	s.repeat, s.next = before, max(s.next, from-recent)
}

// finish adds the literals that are left.
func (s *searcher) finish(at, to int) { s.literals = append(s.literals, s.src[at:to]...) }

// worth is about what a byte of b takes by a code of its own: 16ths of a bit.
func worth(b []byte) int {
	var t tally
	total := 0
	step, some := max(len(b)/segment, 2)*512, 256
	if len(b) <= segment { // whose parts, the planes of numbers, are short
		step, some = 256, 64
	}
	for ; len(b) > 0; b = b[min(step, len(b)):] {
		part := b[:min(some, len(b))]
		t.add(part)
		total += len(part)
	}
	if total == 0 {
		return 16
	}
	counts := t.sum()
	sum, all := 0, log2(uint32(total))
	for _, n := range counts {
		if n > 0 {
			sum += int(n) * (all - log2(n))
		}
	}
	return max(sum/total/16, 16) // a code has no less than a bit
}

// add adds the literals from..at and a match.
func (s *searcher) add(from, at, n, distance int) {
	if n := len(s.literals); at-from <= lz.Wide && from+lz.Wide <= len(s.src) && n+lz.Wide <= cap(s.literals) {
		lz.Copy16(s.literals[n:n+lz.Wide], s.src[from:])
		s.literals = s.literals[:n+at-from]
	} else {
		s.literals = append(s.literals, s.src[from:at]...)
	}
	r := &s.repeat
	code := uint32(distance) + 3
	if at > from {
		switch distance {
		case r[0]:
			code = 1
		case r[1]:
			code = 2
			r[0], r[1] = r[1], r[0]
		case r[2]:
			code = 3
			r[0], r[1], r[2] = r[2], r[0], r[1]
		}
	} else {
		switch distance {
		case r[1]:
			code = 1
			r[0], r[1] = r[1], r[0]
		case r[2]:
			code = 2
			r[0], r[1], r[2] = r[2], r[0], r[1]
		case r[0] - 1:
			code = 3
			r[0], r[1], r[2] = r[0]-1, r[0], r[1]
		}
	}
	if code > 3 {
		r[0], r[1], r[2] = distance, r[0], r[1]
	}
	s.seqs = append(s.seqs, sequence{literals: uint32(at - from), match: uint32(n), offset: code})
}

// cost is what a match takes.
func cost(distance int) int { return sequenceCost + (bits.Len(uint(distance))-1)<<4 }

// fast takes the last place with the same bytes, where that pays. It returns
// where the literals begin that are left.
func (s *searcher) fast(from, to int, q *quick) int {
	for begin, at, end := from, from, min(to, len(s.src)-tail); ; {
		least := q.short
		if s.saved*little < (at-begin)*s.worth {
			least = q.hard
		}
		pays := min(max((sequenceCost+nearCost)/s.worth, least), mostPays)
		if at >= end-pays {
			return from
		}
		from, at = s.leap(from, at, min(at+stretch, end-pays), to, pays, q)
	}
}

// leap is fast from at to before limit, with literals from from on. What pays
// has so many bytes: the first of them are looked up, the last compared.
//
// Where nothing matches it leaps, farther and farther: it looks at burst
// positions and leaves out the next ones, of which it enters each burst-th.
// One of the positions that it looks at in a copy then is one that it entered.
func (s *searcher) leap(from, at, limit, to, pays int, q *quick) (int, int) {
	src, base, worth, heads := s.src, s.base, s.worth, &s.seen
	l := look{rest: uint(64 - 8*min(pays, 8)), shift: uint(64 - q.bits), back: pays - 4, last: s.repeat[0]}
	if len(src) <= 1<<17 {
		l.shift++
	}
	patience, least, burst, most := leapAfter, 0, burst, q.leap
	if pays > 8 { // only long ones, of which a part is found as well
		patience, least = burst, burst
	}
	if worth >= noisy { // only what is very long
		burst, most = burst*q.noise, most*q.noise
	}
	for stop := max(from+patience, at); at < limit; {
		if at == stop {
			end := min(at+max(min((at-from)/leapShare, most), least), limit)
			for at = (at + burst - 1) &^ (burst - 1); at < end; at += burst {
				heads[fastHash(le.Uint64(src[at:])<<l.rest, l.shift)] = int32(at + base)
			}
			stop = at + burst
			continue
		}
		var seen int
		if at, seen = s.scan(at, min(stop, limit), l); at >= min(stop, limit) {
			continue
		}
		var n, start, distance, gain int
		if seen >= 0 {
			n = enough + lz.Same(src[at+enough:to], src[seen+enough:])
			start, distance = at, at-seen
			for start > from && seen > 0 && src[start-1] == src[seen-1] {
				start, seen, n = start-1, seen-1, n+1
			}
			gain = n*worth - cost(distance)
		}
		if r := at + 1 - l.last; r >= 0 && le.Uint32(src[r:]) == le.Uint32(src[at+1:]) {
			again := enough + lz.Same(src[at+1+enough:to], src[r+enough:])
			if g := again*worth - repeatCost; g > gain {
				n, start, distance, gain = again, at+1, l.last, g
			}
		}
		if gain <= q.gain {
			at++
			continue
		}
		s.saved += gain
		s.add(from, start, n, distance)
		l.last = s.repeat[0]
		end := start + n
		if at += 2; at < limit {
			heads[fastHash(le.Uint64(src[at:])<<l.rest, l.shift)] = int32(at + base)
		}
		if end-2 < limit {
			heads[fastHash(le.Uint64(src[end-2:])<<l.rest, l.shift)] = int32(end - 2 + base)
		}
		at, from, stop = end, end, end+patience
	}
	return from, at
}

// look is what a fast search looks for: words by their hash, of which the
// last bytes lie back bytes after them, and the last distance.
type look struct {
	rest, shift uint
	back, last  int
}

// scan enters positions from at on, until it comes to one whose bytes were
// seen, or to one before those that match at the last distance, or to end. seen
// is where they were; below 0: they were not.
func (s *searcher) scan(at, end int, l look) (_, seen int) {
	src, heads, base := s.src, &s.seen, s.base
	for ; at < end; at++ {
		word := le.Uint64(src[at:])
		head := &heads[fastHash(word<<(l.rest&63), l.shift&63)]
		seen := int(*head) - base
		*head = int32(at + base)
		if seen >= 0 && le.Uint32(src[seen:]) == uint32(word) && le.Uint32(src[seen+l.back:]) == le.Uint32(src[at+l.back:]) {
			return at, seen
		}
		if r := at + 1 - l.last; r >= 0 && le.Uint32(src[r:]) == uint32(word>>8) {
			return at, -1
		}
	}
	return at, -1
}

func fastHash(word uint64, shift uint) int {
	return int(word*0x9e3779b185ebca87>>shift) & (1<<fastBits - 1)
}

// match is one that was found.
type match struct {
	n, distance int
	gain        int // 16ths of a bit that it saves
}

// thorough takes the best of several places, or waits for a better one. It
// returns where the literals begin that are left.
func (s *searcher) thorough(from, to int, e *effort) int {
	at, limit := from, min(to, len(s.src)-tail)-enough
	for at < limit {
		m := s.best(at, from, to, e)
		if m.gain <= 0 {
			at += 1 + (at-from)>>e.skip
			continue
		}
		for later := 1; later <= e.later && at+later < limit && m.n < e.nice; later++ {
			if other := s.best(at+later, from, to, e); other.gain > m.gain+laterCost && other.gain*m.n > m.gain*(later+other.n) {
				m = other
				at, later = at+later, 0
			}
		}
		for seen := at - m.distance; at > from && seen > 0 && s.src[at-1] == s.src[seen-1]; seen-- {
			at--
			m.n++
		}
		s.add(from, at, m.n, m.distance)
		at += m.n
		from = at
		if m.n > shortRun && m.distance < shortRun/4 { // what repeats at once is in the chains already
			s.next = max(s.next, at-shortRun)
		}
	}
	return from
}

func (s *searcher) hash(word uint32) int { return int(word*2654435761>>s.shift) & (1<<headBits - 1) }

// insert enters the positions before at.
func (s *searcher) insert(at int) {
	heads, before := (*[1 << headBits]int32)(s.heads), (*[1 << chainBits]uint16)(s.before)
	for next := s.next; next < at; next++ {
		head := &heads[s.hash(le.Uint32(s.src[next:]))]
		here := next + s.base
		d := here - int(*head)
		if d > chainFar {
			d = 0
		}
		before[next&(1<<chainBits-1)] = uint16(d)
		*head = int32(here)
	}
	s.next = max(s.next, at)
}

// best is the match at at that saves most; literals from from on come before.
func (s *searcher) best(at, from, to int, e *effort) (m match) {
	src := s.src
	word := le.Uint32(src[at:])
	for i, d := range s.repeat {
		if i == 0 && at == from {
			continue // means another one
		}
		if seen := at - d; seen >= 0 && le.Uint32(src[seen:]) == word {
			n := enough + lz.Same(src[at+enough:to], src[seen+enough:])
			if gain := n*s.worth - repeatCost - i<<5; gain > m.gain {
				m = match{n, d, gain}
			}
		}
	}
	s.insert(at)
	p := int(s.heads[s.hash(word)]) - s.base
	lowest := max(at-1<<chainBits+1, 0)
	for tries := e.tries; tries > 0 && p >= lowest && m.n < e.nice; tries-- {
		// What saves more has these bytes too.
		end := max((m.gain+cost(at-p))/s.worth-3, 0)
		if at+end+4 <= to && le.Uint32(src[p+end:]) == le.Uint32(src[at+end:]) && le.Uint32(src[p:]) == word {
			n := enough + lz.Same(src[at+enough:to], src[p+enough:])
			if gain := n*s.worth - cost(at-p); gain > m.gain {
				m = match{n, at - p, gain}
				tries += e.more
			}
		}
		d := int(s.before[p&(1<<chainBits-1)])
		if d == 0 {
			break
		}
		p -= d
	}
	return m
}
