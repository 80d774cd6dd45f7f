package zarr

import (
	"cmp"
	"slices"
)

// layOut lists the subchunks of a shard in the order in which they are
// stored.
func (s *sharding) layOut(l layout) []int64 {
	order := make([]int64, l.count)
	for i := range order {
		order[i] = int64(i)
	}
	if s.order != MortonOrder {
		return order
	}
	codes := make([]uint64, l.count)
	idx := make([]int64, len(l.per))
	for i := range codes {
		unravel(int64(i), l.per, idx)
		codes[i] = morton(idx, l.per)
	}
	slices.SortStableFunc(order, func(a, b int64) int { return cmp.Compare(codes[a], codes[b]) })
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
