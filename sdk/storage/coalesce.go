package storage

import (
	"cmp"
	"slices"
)

// Merged is ranges read as one.
type Merged struct {
	Range         // explicit: Off >= 0, Len >= 0
	Members []int // which of the ranges lie in it, by rising Off
}

// Coalesce merges ranges that overlap or are at most gap bytes apart, so that
// they take fewer requests, and returns what to read by rising offset. No
// merged range grows beyond most bytes for the sake of a gap; most <= 0 is no
// bound. Ranges that overlap are always merged, with gap < 0 only those.
//
// Each given range must be explicit (Off >= 0, Len >= 0, its end within 63
// bits) and lies whole within exactly one merged range; Slice finds it there.
func Coalesce(rs []Range, gap, most int64) []Merged {
	order := make([]int, len(rs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(rs[a].Off, rs[b].Off), cmp.Compare(rs[b].Len, rs[a].Len))
	})
	var out []Merged
	for _, i := range order {
		r := rs[i]
		if len(out) > 0 {
			m := &out[len(out)-1]
			end := m.Off + m.Len
			joined := max(end, r.Off+r.Len) - m.Off
			if r.Off < end || r.Off-end <= gap && (most <= 0 || joined <= most) {
				m.Len = joined
				m.Members = append(m.Members, i)
				continue
			}
		}
		out = append(out, Merged{r, []int{i}})
	}
	return out
}

// Slice returns the bytes of r out of body, which begins at offset at of the
// object: fewer than r.Len, possibly none, where body ends before r does. The
// result aliases body but cannot grow into it.
func Slice(body []byte, at int64, r Range) []byte {
	from := min(max(r.Off-at, 0), int64(len(body)))
	to := from + min(r.Len, int64(len(body))-from)
	return body[from:to:to]
}
