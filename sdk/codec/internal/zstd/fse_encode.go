package zstd

import "math/bits"

// fseTable encodes symbols by the states of a decoder's table.
type fseTable struct {
	log     uint
	next    [1 << maxTableBits]uint16 // states, those of each symbol together; plus the size of the table
	symbols [256]transition
	states  [1 << maxTableBits]state // of the decoder
}

// transition is how a symbol leads from one state to another.
type transition struct {
	width uint32 // from state+width the upper half is how many bits of the state are written
	find  int32  // where in next the rest of the state leads
}

// build makes the table of a distribution that fills it.
func (t *fseTable) build(d *distribution) {
	t.log = uint(d.log)
	size := 1 << d.log
	d.spread(t.states[:])
	var first [256]uint16
	total := 0
	for s, c := range d.counts[:d.n] {
		first[s] = uint16(total)
		n := int(c)
		switch {
		case c == 0:
			continue
		case c == 1 || c == -1:
			n = 1
			t.symbols[s] = transition{uint32(d.log<<16 - size), int32(total - 1)}
		default:
			width := d.log - bits.Len(uint(n-1)) + 1
			t.symbols[s] = transition{uint32(width<<16 - n<<width), int32(total - n)}
		}
		total += n
	}
	for i, s := range t.states[:size] {
		t.next[first[s.symbol]] = uint16(size + i)
		first[s.symbol]++
	}
}

// begin is the state that the last symbol of a stream is in.
func (t *fseTable) begin(symbol uint8) uint32 {
	s := t.symbols[symbol]
	width := (s.width + 1<<15) >> 16
	return uint32(t.next[int32((width<<16-s.width)>>width)+s.find])
}

// put writes what leads from the state to the one of symbol, which it returns.
func (t *fseTable) put(w *backward, at uint32, symbol uint8) uint32 {
	s := t.symbols[symbol]
	width := uint(at+s.width) >> 16
	w.add(uint64(at)&(1<<width-1), width)
	return uint32(t.next[int32(at>>width)+s.find])
}

// end writes the state that the first symbol is in.
func (t *fseTable) end(w *backward, at uint32) {
	w.add(uint64(at)&(1<<t.log-1), t.log)
}

// tableLog is a fitting size for n symbols of a kind of which last is the
// largest.
func tableLog(n, last, most int) int {
	log := min(most, bits.Len(uint(n-1))-3)
	return min(max(log, min(bits.Len(uint(n)), bits.Len(uint(last))+1), 5), most)
}

// normalize makes a distribution over 1<<log states of n symbols, counted in
// counts. At least two are different.
func (d *distribution) normalize(counts []uint32, n, log int) {
	size := 1 << log
	d.log, d.n = log, len(counts)
	left, largest := size, 0
	for s, c := range counts {
		v := 0
		if c > 0 {
			v = max(int((uint64(c)<<(log+1)/uint64(n)+1)>>1), 1)
		}
		d.counts[s] = int16(v)
		left -= v
		if v > int(d.counts[largest]) {
			largest = s
		}
	}
	for ; left > 0; left-- {
		d.counts[largest]++
	}
	for ; left < 0; left++ { // too many have the one state that they need
		for s := range counts {
			if d.counts[s] > d.counts[largest] {
				largest = s
			}
		}
		d.counts[largest]--
	}
}

// append appends the distribution as parse reads it.
func (d *distribution) append(dst []byte) []byte {
	acc, fill := uint64(d.log-5), uint(4)
	left, threshold, width := 1<<d.log+1, 1<<d.log, uint(d.log+1)
	for s := 0; left > 1; {
		v := int(d.counts[s])
		s++
		short := 2*threshold - 1 - left
		left -= max(v, -v)
		v++
		n := width
		if v >= threshold {
			v += short
		}
		if v < short {
			n--
		}
		acc |= uint64(v) << fill
		fill += n
		for left < threshold {
			threshold >>= 1
			width--
		}
		if v == 1 && d.counts[s-1] == 0 {
			zeros := 0
			for d.counts[s+zeros] == 0 {
				zeros++
			}
			s += zeros
			for ; zeros >= 3; zeros -= 3 {
				acc |= 3 << fill
				fill += 2
				dst, acc, fill = flushBytes(dst, acc, fill)
			}
			acc |= uint64(zeros) << fill
			fill += 2
		}
		dst, acc, fill = flushBytes(dst, acc, fill)
	}
	if fill > 0 {
		dst = append(dst, byte(acc))
	}
	return dst
}

func flushBytes(dst []byte, acc uint64, fill uint) ([]byte, uint64, uint) {
	for ; fill >= 8; fill -= 8 {
		dst = append(dst, byte(acc))
		acc >>= 8
	}
	return dst, acc, fill
}
