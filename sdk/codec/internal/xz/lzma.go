package xz

import "github.com/gridhold/gridhold/sdk/codec/internal/block"

const (
	states      = 12
	posSlots    = 64
	endPosModel = 14  // slots below have modelled low bits
	fullDists   = 128 // distances below have no direct bits
	alignBits   = 4
	lenMin      = 2
)

// lengths decodes the length of a match.
type lengths struct {
	choice, choice2 prob
	low, mid        [16][8]prob
	high            [256]prob
}

func (l *lengths) reset() {
	l.choice, l.choice2 = probStart, probStart
	for i := range l.low {
		reset(l.low[i][:])
		reset(l.mid[i][:])
	}
	reset(l.high[:])
}

func (l *lengths) read(r *rangeDecoder, posState uint32) uint32 {
	switch {
	case r.bit(&l.choice) == 0:
		return lenMin + r.tree(l.low[posState][:], 3)
	case r.bit(&l.choice2) == 0:
		return lenMin + 8 + r.tree(l.mid[posState][:], 3)
	}
	return lenMin + 16 + r.tree(l.high[:], 8)
}

// lzma is the state of an LZMA decoder. The output is its dictionary: nothing
// else is allocated by a size that the input states.
//
// LZMA specification: https://github.com/jljusten/LZMA-SDK/blob/master/DOC/lzma-specification.txt
type lzma struct {
	r          rangeDecoder
	lc, lp, pb uint
	state      uint32
	reps       [4]uint32

	isMatch, isRep0Long       [states][16]prob
	isRep, isG0, isG1, isG2   [states]prob
	literals                  []prob // 0x300 for each context
	slots                     [4][posSlots]prob
	special                   [fullDists]prob
	align                     [1 << alignBits]prob
	matchLengths, repeatedLen lengths
}

// props sets lc, lp and pb from the byte that packs them.
func (d *lzma) props(b byte) bool {
	if b >= 9*5*5 {
		return false
	}
	d.lc, d.lp, d.pb = uint(b%9), uint(b/9%5), uint(b/45)
	return true
}

// reset forgets what was learned, not what was decoded.
func (d *lzma) reset() {
	d.state, d.reps = 0, [4]uint32{}
	for i := range states {
		reset(d.isMatch[i][:])
		reset(d.isRep0Long[i][:])
	}
	for _, p := range [][]prob{d.isRep[:], d.isG0[:], d.isG1[:], d.isG2[:], d.special[:], d.align[:]} {
		reset(p)
	}
	for i := range d.slots {
		reset(d.slots[i][:])
	}
	d.matchLengths.reset()
	d.repeatedLen.reset()
	n := 0x300 << (d.lc + d.lp)
	if cap(d.literals) < n {
		d.literals = make([]prob, n)
	}
	d.literals = d.literals[:n]
	reset(d.literals)
}

// errPastEnd is that of a match: damage, or only more than is due where the
// stream does not state its size.
var errPastEnd = block.Corrupt("lzma", "a match passes the end of the output")

// decode fills out from at on, with a dictionary that begins at base, until
// it is full or a marker ends the stream. It returns where it stopped.
func (d *lzma) decode(out []byte, base, at int) (end int, marker bool, err error) {
	for at < len(out) {
		if d.r.past {
			return 0, false, block.Corrupt("lzma", "ends early")
		}
		posState := uint32(at-base) & (1<<d.pb - 1)
		if d.r.bit(&d.isMatch[d.state][posState]) == 0 {
			if d.state >= 7 && int64(d.reps[0]) >= int64(at-base) {
				return 0, false, block.Corrupt("lzma", "a match begins before the output")
			}
			out[at] = d.literal(out[base:at])
			at++
			continue
		}
		n, isEnd := d.match(posState)
		if isEnd {
			return at, true, nil
		}
		if int64(d.reps[0]) >= int64(at-base) {
			return 0, false, block.Corrupt("lzma", "a match begins before the output")
		}
		if n > len(out)-at {
			return 0, false, errPastEnd
		}
		block.Repeat(out, at, int(d.reps[0])+1, n)
		at += n
	}
	if d.r.past {
		return 0, false, block.Corrupt("lzma", "ends early")
	}
	return at, false, nil
}

// literal reads the byte that follows before.
func (d *lzma) literal(before []byte) byte {
	context, last := uint(len(before))&(1<<d.lp-1)<<d.lc, uint(0)
	if len(before) > 0 {
		last = uint(before[len(before)-1])
	}
	p := d.literals[0x300*(context+last>>(8-d.lc)):][:0x300]
	symbol := uint32(1)
	if d.state >= 7 {
		expected := uint32(before[len(before)-1-int(d.reps[0])])
		for symbol < 0x100 {
			expect := expected >> 7 & 1
			expected <<= 1
			bit := d.r.bit(&p[(1+expect)<<8+symbol])
			symbol = symbol<<1 | bit
			if bit != expect {
				break
			}
		}
	}
	for symbol < 0x100 {
		symbol = symbol<<1 | d.r.bit(&p[symbol])
	}
	switch {
	case d.state < 4:
		d.state = 0
	case d.state < 10:
		d.state -= 3
	default:
		d.state -= 6
	}
	return byte(symbol)
}

// match reads a match's length and puts its distance, less 1, into reps[0].
func (d *lzma) match(posState uint32) (n int, end bool) {
	r, s := &d.r, d.state
	after := func(literal, match uint32) uint32 { // the next state
		if s < 7 {
			return literal
		}
		return match
	}
	if r.bit(&d.isRep[s]) == 0 {
		length := d.matchLengths.read(r, posState)
		d.reps = [4]uint32{d.distance(length), d.reps[0], d.reps[1], d.reps[2]}
		d.state = after(7, 10)
		return int(length), d.reps[0] == 1<<32-1
	}
	if r.bit(&d.isG0[s]) == 0 {
		if r.bit(&d.isRep0Long[s][posState]) == 0 {
			d.state = after(9, 11)
			return 1, false
		}
	} else {
		i := 1
		if r.bit(&d.isG1[s]) != 0 {
			i = 2 + int(r.bit(&d.isG2[s]))
		}
		distance := d.reps[i]
		copy(d.reps[1:i+1], d.reps[:i])
		d.reps[0] = distance
	}
	d.state = after(8, 11)
	return int(d.repeatedLen.read(r, posState)), false
}

func (d *lzma) distance(length uint32) uint32 {
	slot := d.r.tree(d.slots[min(length-lenMin, 3)][:], 6)
	if slot < 4 {
		return slot
	}
	n := uint(slot>>1 - 1)
	base := (2 | slot&1) << n
	if slot < endPosModel {
		return base + d.r.reverse(d.special[base-slot:], n)
	}
	return base + d.r.direct(n-alignBits)<<alignBits + d.r.reverse(d.align[:], alignBits)
}
