package zstd

import "math/bits"

const maxTableBits = 9

// distribution says how many of the 1<<log states of a table each symbol
// has; -1 is one that has less than a state.
type distribution struct {
	counts [256]int16
	n      int // symbols
	log    int
}

// parse reads a distribution of symbols up to most and returns what follows
// it. RFC 8878, 4.1.1.
func (d *distribution) parse(src []byte, most, maxLog int) ([]byte, error) {
	f := forward{src: src}
	d.log = f.peek(4) + 5
	f.at += 4
	if d.log > maxLog {
		return nil, corrupt("a table is too large")
	}
	left, threshold, width := 1<<d.log+1, 1<<d.log, d.log+1
	d.n = 0
	for left > 1 {
		if d.n > most {
			return nil, corrupt("a table has too many symbols")
		}
		short := 2*threshold - 1 - left // values below this have a bit less
		v := f.peek(width)
		if low := v & (threshold - 1); low < short {
			v = low
			f.at += width - 1
		} else {
			if v >= threshold {
				v -= short
			}
			f.at += width
		}
		v--
		left -= max(v, -v)
		d.counts[d.n] = int16(v)
		d.n++
		for again := v == 0; again; { // how many zeros follow
			k := f.peek(2)
			f.at += 2
			if d.n+k > most+1 {
				return nil, corrupt("a table has too many symbols")
			}
			clear(d.counts[d.n : d.n+k])
			d.n += k
			again = k == 3 && f.at < 8*len(src)
		}
		for left < threshold {
			threshold >>= 1
			width--
		}
	}
	n := (f.at + 7) >> 3
	if left != 1 || n > len(src) {
		return nil, corrupt("a table is damaged")
	}
	return src[n:], nil
}

// state is where a state of a table leads: its symbol, and the bits that are
// added to next.
type state struct {
	next   uint16
	width  uint8
	symbol uint8
}

// spread lays the symbols out over a table. It returns false for counts that
// do not fill it.
func (d *distribution) spread(table []state) bool {
	size := 1 << d.log
	table = table[:size]
	var next [256]uint16
	high := size
	for s, c := range d.counts[:d.n] {
		next[s] = uint16(c)
		if c == -1 {
			high--
			if high < 0 {
				return false
			}
			table[high].symbol = uint8(s)
			next[s] = 1
		}
	}
	at, step := 0, size>>1+size>>3+3
	for s, c := range d.counts[:d.n] {
		for range c {
			table[at].symbol = uint8(s)
			for at = (at + step) & (size - 1); at >= high; {
				at = (at + step) & (size - 1)
				if high == 0 {
					return false
				}
			}
		}
	}
	if at != 0 {
		return false
	}
	for i := range table {
		t := &table[i]
		n := next[t.symbol]
		next[t.symbol]++
		width := d.log + 1 - bits.Len16(n)
		t.width, t.next = uint8(width), n<<width-uint16(size)
	}
	return true
}
