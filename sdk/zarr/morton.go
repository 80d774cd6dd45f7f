package zarr

import (
	"cmp"
	"slices"
)

// layOut lists the subchunks of a shard in the order in which they are
// stored.
func (s *sharding) layOut(l layout) []int64 {
	order := make([]int64, l.count)
	if s.order != MortonOrder {
		for i := range order {
			order[i] = int64(i)
		}
		return order
	}
	codes := make([]uint64, l.count)
	by := make([]int, l.count)
	idx := make([]int64, len(l.per))
	for i := range codes {
		by[i] = i
		unravel(int64(i), l.per, idx)
		codes[i] = morton(idx, l.per)
	}
	slices.SortStableFunc(by, func(a, b int) int { return cmp.Compare(codes[a], codes[b]) })
	for i, k := range by {
		order[i] = int64(k)
	}
	return order
}

// morton interleaves the bits of indices, lowest first, the last axis being
// the lowest. An axis takes part as long as its bits can be set.
func morton(idx, grid []int64) uint64 {
	var code uint64
	at := 0
	for bit := 0; bit < 63 && at < 64; bit++ {
		more := false
		for i := len(idx) - 1; i >= 0 && at < 64; i-- {
			if (grid[i]-1)>>bit == 0 {
				continue
			}
			more = true
			code |= uint64(idx[i]>>bit&1) << at
			at++
		}
		if !more {
			break
		}
	}
	return code
}
