package block

import "sync"

const (
	hcParse   = 3       // the level from which on all ways are weighed
	hcSegment = 8 << 10 // bytes for which that is done at once
	hcJump    = 128     // bytes of a match that is taken without weighing
	hcMatch   = 3       // bytes that a match takes, with the token of its sequence
)

// parse weighs all ways to divide a segment: for each position, by its offset
// in the segment, the fewest bytes that what comes before it takes. The
// distance of a match does not count, so that of those at a position the
// longest one stands for all.
type parse struct {
	cost     [hcSegment + 1]int32
	run      [hcSegment + 1]int32 // literals that the way there ends with
	length   [hcSegment + 1]int32 // bytes of the match that it ends with; 0: a literal
	distance [hcSegment + 1]int32
	best     [hcSegment + 1]struct{ length, distance int32 } // longest match at a position
	path     []int32                                         // where the matches of the best way end, the last one first
}

var parses = sync.Pool{New: func() any { return new(parse) }}

// appendLZ4Parsed is AppendLZ4HC at its higher levels: of the ways that the
// longest matches among so many earlier places allow it takes the best.
func appendLZ4Parsed(dst, src []byte, start, tries int) []byte {
	c, p := chainPool.Get().(*chains), parses.Get().(*parse)
	defer chainPool.Put(c)
	defer parses.Put(p)
	clear(c.heads)
	c.next = max(0, start-lz4Far)
	from := start
	limit := len(src) - lz4Tail
	for at := start; at < limit; {
		n := min(hcSegment, limit-at)
		end, jump, distance := p.find(c, src, at, n, tries)
		p.weigh(end, at-from)
		dst, from = p.append(dst, src, at, end, from)
		if at += end; jump > 0 {
			dst = lz4Sequence(dst, src[from:at], distance, jump)
			at += jump
			from = at
		}
	}
	return lz4Sequence(dst, src[from:], 0, 0)
}

// find finds the longest matches for n bytes from at on. It ends at one that is
// taken as it is, jump bytes, if there is one.
func (p *parse) find(c *chains, src []byte, at, n, tries int) (end, jump, distance int) {
	end = n
	for i := range n {
		_, seen, m := c.longest(src, at+i, 0, lz4MinMatch-1, tries)
		if m >= hcJump {
			end, jump, distance = i, m, at+i-seen
			break
		}
		p.best[i].length, p.best[i].distance = int32(m), int32(at+i-seen)
	}
	// What matches at a position may do so from the one before on, where the
	// search did not come to it. So may the match that is taken.
	for d := distance; jump > 0 && end > 0 && at+end-1 >= d && src[at+end-1] == src[at+end-1-d]; end-- {
		jump++
	}
	for i := end - 1; i > 0; i-- {
		d := int(p.best[i].distance)
		if m := p.best[i].length; m > 0 && m >= p.best[i-1].length && at+i-1 >= d && src[at+i-1] == src[at+i-1-d] {
			p.best[i-1].length, p.best[i-1].distance = m+1, int32(d)
		}
	}
	return end, jump, distance
}

// weigh finds the best way through the n bytes for which find was called,
// before which there are run literals.
func (p *parse) weigh(n, run int) {
	for i := range n + 1 {
		p.cost[i] = 1 << 30
	}
	p.cost[0], p.run[0], p.length[0] = 0, int32(run), 0
	for i := range n {
		literals := p.run[i] + 1
		if cost := p.cost[i] + 1 + lz4More(literals-1, literals); cost < p.cost[i+1] {
			p.cost[i+1], p.run[i+1], p.length[i+1] = cost, literals, 0
		}
		for k := int32(lz4MinMatch); k <= min(p.best[i].length, int32(n-i)); k++ {
			j := i + int(k)
			if cost := p.cost[i] + hcMatch + lz4More(0, k-lz4MinMatch); cost <= p.cost[j] {
				p.cost[j], p.run[j], p.length[j], p.distance[j] = cost, 0, k, p.best[i].distance
			}
		}
	}
}

// lz4More is how many bytes more a length takes that was a and becomes b.
func lz4More(a, b int32) int32 { return (b+240)/255 - (a+240)/255 }

// append appends the best way to end, and returns where the literals after
// its last match begin.
func (p *parse) append(dst, src []byte, at, end, from int) ([]byte, int) {
	p.path = p.path[:0]
	for i := end; i > 0; {
		if p.length[i] == 0 {
			i--
			continue
		}
		p.path = append(p.path, int32(i))
		i -= int(p.length[i])
	}
	for k := len(p.path) - 1; k >= 0; k-- {
		i := p.path[k]
		begin := at + int(i-p.length[i])
		dst = lz4Sequence(dst, src[from:begin], int(p.distance[i]), int(p.length[i]))
		from = at + int(i)
	}
	return dst, from
}
