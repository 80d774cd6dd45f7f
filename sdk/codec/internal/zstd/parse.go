package zstd

import "github.com/gridhold/gridhold/sdk/codec/internal/lz"

const (
	parseMost = 4 << 10 // bytes for which all ways are weighed at once
	threeBits = 14      // of hashes of three bytes
	threeFar  = 1 << 14 // what three bytes may be far away to be worth a sequence
	unpriced  = 1 << 30
	mostNice  = 256
)

// found is a match at a position: none of those before it there is as long,
// nor as far.
type found struct{ n, distance int32 }

// node is the best way to a position that is known: what it takes, and how it
// ends.
type node struct {
	price    int32 // 256ths of a bit
	run      int32 // literals at the end
	n        int32 // bytes of the match at the end; 0: a literal
	distance int32
	repeat   [3]int32
}

// parser weighs all ways to divide a block, of those that the matches allow
// that a search found. What a literal or a match takes is guessed first, and
// counted in the result of that for the second time.
type parser struct {
	matches []found
	first   []int32               // by position in the block, of its matches
	three   [1 << threeBits]int32 // positions by the hash of three bytes
	nodes   [parseMost + 1]node
	path    []int32 // where the steps of the best way end, the last one first

	literal [256]int32          // what each takes
	lengths [mostNice + 1]int32 // of a match of so many bytes
	runs    [literalCodes + 1]int32
	offsets [32]int32 // by code, with its bits
}

// weighed divides a block as well as it can. It returns where the literals
// begin that are left.
func (s *searcher) weighed(from, to int, e *effort) int {
	p, before := s.parser, s.repeat
	s.collect(from, to, e)
	p.guess(s.src[from:to])
	s.walk(from, to, e)
	at := from
	for range e.again {
		p.count(s)
		s.repeat = before
		s.start()
		at = s.walk(from, to, e)
	}
	return at
}

// collect finds the matches at all positions.
func (s *searcher) collect(from, to int, e *effort) {
	p, src := s.parser, s.src
	p.matches, p.first = p.matches[:0], p.first[:0]
	limit := s.last(to)
	for at := from; at < limit; at++ {
		p.first = append(p.first, int32(len(p.matches)))
		best := 2
		three := &p.three[le.Uint32(src[at:])<<8*506832829>>(32-threeBits)]
		if seen := int(*three) - s.base; seen >= 0 && at-seen <= threeFar && le.Uint32(src[seen:])<<8 == le.Uint32(src[at:])<<8 {
			best = lz.Same(src[at:to], src[seen:])
			p.matches = append(p.matches, found{int32(best), int32(at - seen)})
		}
		*three = int32(at + s.base)
		s.insert(at)
		word := le.Uint32(src[at:])
		seen, lowest := int(s.heads[s.hash(word)])-s.base, max(at-1<<chainBits+1, 0)
		for tries := e.tries; tries > 0 && seen >= lowest && best < e.nice; tries-- {
			// What is longer has these bytes too.
			if end := max(best-3, 0); at+end+4 <= to && le.Uint32(src[seen+end:]) == le.Uint32(src[at+end:]) && le.Uint32(src[seen:]) == word {
				if n := enough + lz.Same(src[at+enough:to], src[seen+enough:]); n > best {
					best = n
					p.matches = append(p.matches, found{int32(n), int32(at - seen)})
				}
			}
			d := int(s.before[seen&(1<<chainBits-1)])
			if d == 0 {
				break
			}
			seen -= d
		}
		if best >= e.nice { // it is taken
			for end := min(at+best-1, limit-1); at < end; at++ {
				p.first = append(p.first, int32(len(p.matches)))
			}
		}
	}
	p.first = append(p.first, int32(len(p.matches)))
}

// last is before where the last match of a block may begin.
func (s *searcher) last(to int) int { return min(to-enough+1, len(s.src)-tail) }

// walk divides the block by what things take.
func (s *searcher) walk(from, to int, e *effort) int {
	begin, limit := from, s.last(to)
	for at := begin; at < limit; {
		n := min(parseMost, limit-at)
		end, jump := s.weigh(at, n, begin, from, to, e)
		from = s.take(at, end, from)
		if at += end; jump.n > 0 {
			s.add(from, at, int(jump.n), int(jump.distance))
			at += int(jump.n)
			from = at
		}
	}
	return from
}

// weigh finds the best way through n bytes from at on, before which there are
// literals from from on; the block begins at begin. It ends early at a match
// that is taken as it is.
func (s *searcher) weigh(at, n, begin, from, to int, e *effort) (end int, jump found) {
	p, src := s.parser, s.src
	nodes := p.nodes[:n+1]
	for i := range nodes {
		nodes[i].price = unpriced
	}
	r := &s.repeat
	nodes[0] = node{run: int32(at - from), repeat: [3]int32{int32(r[0]), int32(r[1]), int32(r[2])}}
	for i := range n {
		here := nodes[i]
		if next, price := &nodes[i+1], here.price+p.literal[src[at+i]]+p.run(here.run+1)-p.run(here.run); price < next.price {
			*next = node{price: price, run: here.run + 1, repeat: here.repeat}
		}
		longest := 2
		for code, distance := range here.again() {
			seen := at + i - int(distance)
			if distance <= 0 || seen < 0 || src[seen] != src[at+i] {
				continue
			}
			m := lz.Same(src[at+i:to], src[seen:])
			if m >= e.nice {
				return i, found{int32(m), distance}
			}
			p.relax(nodes, i, minMatch, m, distance, p.offsets[min(code, 1)])
			longest = max(longest, m)
		}
		k := at + i - begin
		shortest := minMatch
		for _, m := range p.matches[p.first[k]:p.first[k+1]] {
			if int(m.n) >= e.nice {
				return i, m
			}
			if int(m.n) > longest {
				p.relax(nodes, i, shortest, int(m.n), m.distance, p.offset(m.distance))
			}
			shortest = int(m.n) + 1
		}
	}
	return n, found{}
}

// again is the distances that the codes 1, 2 and 3 stand for.
func (d *node) again() [3]int32 {
	if d.run > 0 {
		return d.repeat
	}
	return [3]int32{d.repeat[1], d.repeat[2], d.repeat[0] - 1}
}

// relax goes from node i on by matches of shortest to longest bytes.
func (p *parser) relax(nodes []node, i, shortest, longest int, distance, price int32) {
	here := &nodes[i]
	price += here.price + p.runs[0]
	for n := shortest; n <= min(longest, len(nodes)-1-i); n++ {
		if next := &nodes[i+n]; price+p.lengths[n] < next.price {
			*next = node{price: price + p.lengths[n], n: int32(n), distance: distance, repeat: here.after(distance)}
		}
	}
}

// after is the last distances after a match.
func (d *node) after(distance int32) [3]int32 {
	r := d.repeat
	switch distance {
	case r[0]:
		if d.run > 0 {
			return r
		}
	case r[1]:
		return [3]int32{distance, r[0], r[2]}
	}
	return [3]int32{distance, r[0], r[1]}
}

// take adds the best way to the node end.
func (s *searcher) take(at, end, from int) int {
	p := s.parser
	p.path = p.path[:0]
	for i := end; i > 0; {
		if n := int(p.nodes[i].n); n > 0 {
			p.path = append(p.path, int32(i))
			i -= n
		} else {
			i--
		}
	}
	for k := len(p.path) - 1; k >= 0; k-- {
		i := int(p.path[k])
		d := &p.nodes[i]
		s.add(from, at+i-int(d.n), int(d.n), int(d.distance))
		from = at + i
	}
	return from
}

// run is what the length of a run of literals takes.
func (p *parser) run(n int32) int32 { return p.runs[min(n, literalCodes)] }

// offset is what a distance takes.
func (p *parser) offset(distance int32) int32 {
	s := sequence{offset: uint32(distance) + 3, match: minMatch}
	s.code()
	return p.offsets[s.codes[offset]]
}

// guess prices by the bytes of the block, and as if most sequences were short:
// who takes them to be dear never finds out that many of them are cheap.
func (p *parser) guess(b []byte) {
	var t tally
	t.add(b)
	p.priceLiterals(t.sum())
	var counts [3][64]uint32
	for f := range counts {
		d := &fields[f].defaults
		for s, n := range d.counts[:d.n] {
			if counts[f][s] = uint32(max(n, 1)); f != offset {
				counts[f][s] = uint32(max(64>>s, 1))
			}
		}
	}
	p.price(&counts)
}

// count prices by what the searcher found.
func (p *parser) count(s *searcher) {
	var t tally
	t.add(s.literals)
	p.priceLiterals(t.sum())
	var counts [3][64]uint32
	for i := range s.seqs {
		q := &s.seqs[i]
		q.code()
		for f := range counts {
			counts[f][q.codes[f]&63]++
		}
	}
	p.price(&counts)
}

func (p *parser) priceLiterals(counts *[256]uint32) {
	total := uint32(256)
	for _, n := range counts {
		total += 4 * n
	}
	for c, n := range counts {
		p.literal[c] = int32(max(log2(total)-log2(4*n+1), 1<<7))
	}
}

// price sets what lengths and offsets take, by how frequent their codes are.
func (p *parser) price(counts *[3][64]uint32) {
	var codes [3][64]int32
	for f := range counts {
		total := uint32(0)
		for _, n := range counts[f] {
			total += 4*n + 1
		}
		for c, n := range counts[f] {
			codes[f][c] = int32(log2(total) - log2(4*n+1))
		}
	}
	for n := range p.runs {
		s := sequence{literals: uint32(n), match: minMatch, offset: 1}
		s.code()
		c := s.codes[literalLength]
		p.runs[n] = codes[literalLength][c] + int32(fields[literalLength].symbols[c].width)<<8
	}
	for n := minMatch; n < len(p.lengths); n++ {
		s := sequence{match: uint32(n), offset: 1}
		s.code()
		c := s.codes[matchLength]
		p.lengths[n] = codes[matchLength][c] + int32(fields[matchLength].symbols[c].width)<<8
	}
	for c := range p.offsets {
		p.offsets[c] = codes[offset][c] + int32(c)<<8
	}
}
