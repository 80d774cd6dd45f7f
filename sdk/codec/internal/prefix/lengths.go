// Package prefix chooses how many bits each symbol of an alphabet takes, as
// DEFLATE's and Zstandard's encoders need it.
package prefix

// most is how many symbols an alphabet has at most.
const most = 288

// Lengths is the making of codes. The zero value is ready; it may be used
// again and again, by one goroutine at a time.
type Lengths struct {
	order  [most]uint32 // what occurs, rarest first: the count, above the symbol
	spare  [most]uint32
	used   int
	counts [2*most - 1]uint32
	up     [2*most - 1]uint16
	depth  [2*most - 1]uint8
}

const symbolBits = 9 // of order

func symbol(o uint32) int { return int(o & (1<<symbolBits - 1)) }

// Set sets widths, which is as long as counts, to the bits of each symbol: 0
// where the count is 0, at most limit. The code is complete. Counts are below
// 1<<23. It returns false for fewer than two symbols, or more than fit.
func (l *Lengths) Set(widths []uint8, counts []uint32, limit int) bool {
	l.used = 0
	for s, c := range counts {
		widths[s] = 0
		if c > 0 {
			l.order[l.used] = c<<symbolBits | uint32(s)
			l.used++
		}
	}
	if l.used < 2 || l.used > 1<<limit {
		return false
	}
	l.sort()
	l.tree(widths, uint8(limit))
	return l.fit(widths, limit)
}

// sort sorts what occurs by its count, symbols that are as frequent by number:
// byte for byte of the counts, the lowest first.
func (l *Lengths) sort() {
	from, to := l.order[:l.used], l.spare[:l.used]
	all := uint32(0)
	for _, o := range from {
		all |= o
	}
	for shift := symbolBits; all>>shift > 0; shift += 8 {
		var ends [256]uint16
		for _, o := range from {
			ends[uint8(o>>shift)]++
		}
		sum := uint16(0)
		for i, n := range ends {
			ends[i] = sum
			sum += n
		}
		for _, o := range from {
			end := &ends[uint8(o>>shift)]
			to[*end] = o
			*end++
		}
		from, to = to, from
	}
	copy(l.order[:l.used], from)
}

// tree sets the widths of Huffman's tree, which joins the two rarest again
// and again, but none above the limit.
func (l *Lengths) tree(widths []uint8, limit uint8) {
	n := l.used
	for i, o := range l.order[:n] {
		l.counts[i] = o >> symbolBits
	}
	clear(l.counts[n : 2*n-1])
	leaf, inner := 0, n
	for next := n; next < 2*n-1; next++ {
		for range 2 {
			rarest := leaf
			if leaf < n && (inner >= next || l.counts[leaf] <= l.counts[inner]) {
				leaf++
			} else {
				rarest = inner
				inner++
			}
			l.up[rarest] = uint16(next)
			l.counts[next] += l.counts[rarest]
		}
	}
	l.depth[2*n-2] = 0
	for i := 2*n - 3; i >= 0; i-- {
		l.depth[i] = l.depth[l.up[i]] + 1
		if i < n {
			widths[symbol(l.order[i])] = min(l.depth[i], limit)
		}
	}
}

// fit makes the code complete: codes that were cut take room from others.
func (l *Lengths) fit(widths []uint8, limit int) bool {
	all := 1 << limit
	free := all
	for _, o := range l.order[:l.used] {
		free -= all >> widths[symbol(o)]
	}
	for free < 0 { // widen rare ones that are not widest
		for w := uint8(limit - 1); w > 0 && free < 0; w-- {
			for _, o := range l.order[:l.used] {
				if s := symbol(o); widths[s] == w && free < 0 {
					widths[s]++
					free += all >> (w + 1)
				}
			}
		}
	}
	for free > 0 { // that was too much: narrow frequent ones
		before := free
		for i := l.used - 1; i >= 0; i-- {
			s := symbol(l.order[i])
			if w := widths[s]; w > 1 && all>>w <= free {
				widths[s]--
				free -= all >> w
			}
		}
		if free == before {
			return false
		}
	}
	return true
}
