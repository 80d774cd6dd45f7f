package deflate

import (
	"math/bits"

	"github.com/gridhold/gridhold/sdk/codec/internal/prefix"
)

const (
	endOfBlock = 256
	firstMatch = 257 // symbol of the shortest match
	literals   = 286 // symbols of literals, the end, and lengths
	distances  = 30
	widths     = 19 // symbols of the table of widths
	maxWidth   = 15
	maxStored  = 1<<16 - 1 // bytes in a stored block
)

// The kinds of blocks.
const (
	kindStored  = 0
	kindFixed   = 1
	kindDynamic = 2
)

// code is how symbols are written: the bits of each, turned round, and how
// many they are.
type code struct {
	bits  [288]uint16
	width [288]uint8
}

// codes are those of a block.
type codes struct {
	lengths  prefix.Lengths
	literal  code
	distance code
	meta     code // of the widths of the other two
	counts   [literals]uint32
	far      [distances]uint32
	order    []uint8 // the symbols of widths; repetitions have what follows in the byte after them
}

// widthOrder is the order in which the widths of meta are told.
var widthOrder = [widths]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// fixed are the codes that are always there.
var fixed = func() (c [2]code) {
	for s := range c[0].width {
		w := uint8(8)
		switch {
		case s >= 280:
		case s >= 256:
			w = 7
		case s >= 144:
			w = 9
		}
		c[0].width[s] = w
	}
	c[0].assign(288)
	for s := range 30 {
		c[1].width[s] = 5
	}
	c[1].assign(30)
	return c
}()

// assign makes the bits of n widths. RFC 1951, 3.2.2.
func (c *code) assign(n int) {
	var first [maxWidth + 2]uint16
	for _, w := range c.width[:n] {
		if w > 0 {
			first[w+1]++
		}
	}
	for w := 1; w < len(first); w++ {
		first[w] += first[w-1]
		first[w] <<= 1
	}
	for s, w := range c.width[:n] {
		if w > 0 {
			c.bits[s] = bits.Reverse16(first[w] << (16 - w))
			first[w]++
		}
	}
}

// lengthSymbol is the symbol of a length, and the bits that follow it.
func lengthSymbol(n int) (symbol int, value uint64, width uint) {
	if n == maxMatch {
		return 285, 0, 0
	}
	v := uint(n - minMatch)
	if v < 8 {
		return firstMatch + int(v), 0, 0
	}
	width = uint(bits.Len(v)) - 3
	return firstMatch + int(4*width+v>>width), uint64(v) & (1<<width - 1), width
}

// distanceSymbol is the symbol of a distance, and the bits that follow it.
func distanceSymbol(d int) (symbol int, value uint64, width uint) {
	v := uint(d - 1)
	if v < 4 {
		return int(v), 0, 0
	}
	width = uint(bits.Len(v)) - 2
	return int(2*width + v>>width), uint64(v) & (1<<width - 1), width
}

// block writes the block of the tokens, which are the bytes up to at.
func (e *encoder) block(at int, last bool) {
	c := &e.codes
	clear(c.counts[:])
	clear(c.far[:])
	extra := 0
	for _, t := range e.tokens {
		if t < matchMark {
			c.counts[t]++
			continue
		}
		s, _, w := lengthSymbol(t.length())
		d, _, v := distanceSymbol(t.distance())
		c.counts[s]++
		c.far[d]++
		extra += int(w + v)
	}
	c.counts[endOfBlock]++
	c.literal.fit(&c.lengths, c.counts[:], maxWidth)
	c.distance.fit(&c.lengths, c.far[:], maxWidth)
	dynamic := c.describe() + c.literal.cost(c.counts[:]) + c.distance.cost(c.far[:]) + extra
	plain := fixed[0].cost(c.counts[:]) + fixed[1].cost(c.far[:]) + extra
	b := e.src[e.started:at]
	stored := (len(b) + 5*(len(b)/maxStored+1)) * 8
	switch {
	case stored <= min(dynamic, plain):
		e.out.stored(b, last)
	case plain <= dynamic:
		e.out.begin(kindFixed, last)
		e.out.tokens(e.tokens, &fixed[0], &fixed[1])
	default:
		e.out.begin(kindDynamic, last)
		e.out.table(c)
		e.out.tokens(e.tokens, &c.literal, &c.distance)
	}
	if last {
		e.out.flush(true)
	}
	e.tokens, e.started = e.tokens[:0], at
}

// fit makes the code of what is counted: of two symbols at least, as some
// readers want it.
func (c *code) fit(l *prefix.Lengths, counts []uint32, limit int) {
	if !l.Set(c.width[:len(counts)], counts, limit) {
		last := 0
		for s, n := range counts {
			if n > 0 {
				last = s
			}
		}
		c.width[last] = 1
		c.width[max(last-1, 0)] = 1
		if last == 0 {
			c.width[1] = 1
		}
	}
	c.assign(len(counts))
}

// cost is the bits that what is counted takes, but for those that follow
// symbols.
func (c *code) cost(counts []uint32) int {
	sum := 0
	for s, n := range counts {
		sum += int(n) * int(c.width[s])
	}
	return sum
}

// describe makes the symbols that tell the widths of both codes, and returns
// the bits that these take. RFC 1951, 3.2.7.
func (c *codes) describe() int {
	var all [literals + distances]uint8
	n, m := c.used()
	copy(all[:n], c.literal.width[:])
	copy(all[n:n+m], c.distance.width[:])
	c.order = c.order[:0]
	var counts [widths]uint32
	extra := 0
	put := func(symbol, value, width int) {
		c.order = append(c.order, uint8(symbol), uint8(value))
		counts[symbol]++
		extra += width
	}
	for i := 0; i < n+m; {
		w := all[i]
		run := 1
		for i+run < n+m && all[i+run] == w {
			run++
		}
		i += run
		if w == 0 {
			for run >= 11 {
				k := min(run, 138)
				put(18, k-11, 7)
				run -= k
			}
			if run >= 3 {
				put(17, run-3, 3)
				run = 0
			}
		} else {
			put(int(w), 0, 0)
			for run--; run >= 3; {
				k := min(run, 6)
				put(16, k-3, 2)
				run -= k
			}
		}
		for ; run > 0; run-- {
			put(int(w), 0, 0)
		}
	}
	c.meta.fit(&c.lengths, counts[:], 7)
	return 5 + 5 + 4 + 3*c.told() + c.meta.cost(counts[:]) + extra
}

// used is up to which symbols the widths are told.
func (c *codes) used() (literal, distance int) {
	literal, distance = literals, distances
	for literal > firstMatch && c.literal.width[literal-1] == 0 {
		literal--
	}
	for distance > 1 && c.distance.width[distance-1] == 0 {
		distance--
	}
	return literal, distance
}

// told is how many widths of meta are told.
func (c *codes) told() int {
	n := widths
	for n > 4 && c.meta.width[widthOrder[n-1]] == 0 {
		n--
	}
	return n
}
