package block

import (
	"encoding/binary"
	"sync"
)

// chains find earlier places with the same four bytes: the last one by hash,
// and from each the one before it.
type chains struct {
	heads  []int32 // position+1, by hash
	before [1 << 16]uint16
	next   int // first position that is not in the chains
}

const (
	hcHashBits = 15
	hcGap      = 3   // bytes between two matches from which on the first one is kept
	hcFree     = 18  // longest match whose length the token holds
	hcEnough   = 512 // bytes of a match after which no longer one is looked for
)

var chainPool = sync.Pool{New: func() any { return &chains{heads: make([]int32, 1<<hcHashBits)} }}

func hcHash(word uint32) uint32 { return word * 2654435761 >> (32 - hcHashBits) }

// insert enters all positions before at.
func (c *chains) insert(src []byte, at int) {
	for ; c.next < at; c.next++ {
		h := hcHash(binary.LittleEndian.Uint32(src[c.next:]))
		// A distance of 0 is the end: what is farther is out of reach.
		var distance int
		if head := int(c.heads[h]); head > 0 && c.next-(head-1) <= lz4Far {
			distance = c.next - (head - 1)
		}
		c.before[uint16(c.next)] = uint16(distance)
		c.heads[h] = int32(c.next + 1)
	}
}

// longest finds the longest match at at that is longer than n and may begin
// back bytes earlier: where it begins in src, where it was seen, and its length.
func (c *chains) longest(src []byte, at, back, n, tries int) (begin, seen, length int) {
	c.insert(src, at)
	limit := len(src) - lz4Last
	word := binary.LittleEndian.Uint32(src[at:])
	length = n
	p := int(c.heads[hcHash(word)]) - 1
	for ; tries > 0 && p >= 0 && at-p <= lz4Far; tries-- {
		if binary.LittleEndian.Uint32(src[p:]) == word && (at+length-back >= limit || src[max(p+length-back, 0)] == src[at+length-back]) {
			k := lz4MinMatch + Same(src[at+lz4MinMatch:limit], src[p+lz4MinMatch:])
			earlier := 0
			for earlier < back && p-earlier > 0 && src[at-earlier-1] == src[p-earlier-1] {
				earlier++
			}
			if k+earlier > length {
				begin, seen, length = at-earlier, p-earlier, k+earlier
				if length >= hcEnough {
					break
				}
			}
		}
		d := int(c.before[uint16(p)])
		if d == 0 {
			break
		}
		p -= d
	}
	if length == n {
		return 0, 0, 0
	}
	return begin, seen, length
}

// AppendLZ4HC appends src[start:] as one LZ4 block to dst; matches may begin
// in src[:start], a dictionary. It looks for longer matches than
// AppendLZ4Fast, at each of up to 2^level earlier places (half as many from 3 to
// 8), and takes a later one where that is longer; from level 3 on it weighs all
// of them. level is in 1..9.
func AppendLZ4HC(dst, src []byte, start, level int) []byte {
	if level >= hcParse {
		return appendLZ4Parsed(dst, src, start, 1<<(level-1+level/9))
	}
	c := chainPool.Get().(*chains)
	defer chainPool.Put(c)
	clear(c.heads)
	c.next = max(0, start-lz4Far)
	tries := 1 << max(level-1, 2)
	from := start
	limit := len(src) - lz4Tail
	for at := start; at < limit; {
		_, seen, n := c.longest(src, at, 0, lz4MinMatch-1, tries)
		if n == 0 {
			at++
			continue
		}
		for at+n < limit && n < hcEnough { // is there a longer one that overlaps the end of this one?
			probe := at + n - 2
			begin, seen2, n2 := c.longest(src, probe, probe-at-1, n, tries)
			if n2 == 0 {
				break
			}
			if gap := begin - at; gap >= hcGap { // both pay; lengths up to hcFree cost nothing
				first := min(n, gap)
				if gap < hcFree {
					first = min(n, hcFree, gap+n2-lz4MinMatch)
				}
				if late := first - gap; late > 0 {
					begin, seen2, n2 = begin+late, seen2+late, n2-late
				}
				dst = lz4Sequence(dst, src[from:at], at-seen, first)
				from = at + first
			}
			at, seen, n = begin, seen2, n2
		}
		for at > from && seen > 0 && src[at-1] == src[seen-1] {
			at, seen, n = at-1, seen-1, n+1
		}
		dst = lz4Sequence(dst, src[from:at], at-seen, n)
		at += n
		from = at
	}
	return lz4Sequence(dst, src[from:], 0, 0)
}
