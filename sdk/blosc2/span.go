package blosc2

import (
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Span selects items of one axis: Start, Start+Step, … as long as they are
// before Stop; with a negative Step, after it (Stop -1 is before the first
// item). Step 0 means 1.
type Span struct{ Start, Stop, Step int64 }

// Len is how many items the span selects.
func (s Span) Len() int64 {
	switch step := s.step(); {
	case step > 0 && s.Start < s.Stop:
		return (s.Stop-s.Start-1)/step + 1
	case step < 0 && s.Start > s.Stop:
		return (s.Start-s.Stop-1)/-step + 1
	}
	return 0
}

func (s Span) step() int64 {
	if s.Step == 0 {
		return 1
	}
	return s.Step
}

// within reports ErrOutOfRange unless all that is selected is among n items.
func (s Span) within(axis int, n int64) error {
	count := s.Len()
	last := s.Start + (count-1)*s.step()
	if count == 0 || s.Start >= 0 && s.Start < n && last >= 0 && last < n {
		return nil
	}
	return fault.New(fault.ErrOutOfRange, "axis "+strconv.Itoa(axis),
		strconv.FormatInt(s.Start, 10)+":"+strconv.FormatInt(s.Stop, 10)+":"+strconv.FormatInt(s.step(), 10), "there are "+strconv.FormatInt(n, 10))
}

// cut is the part of a span that lies in one cell of a grid: those of its
// items numbered from to to-1. The first of them is item at of the cell.
type cut struct{ cell, from, to, at int64 }

// cuts divides the items from to to-1 of a span among cells of edge items,
// the first of which begins at origin.
func (s Span) cuts(from, to, origin, edge int64) []cut {
	var list []cut
	step := s.step()
	for from < to {
		at := s.Start + from*step - origin
		cell := at / edge
		at -= cell * edge
		more := (edge - 1 - at) / step // items after this one in the cell
		if step < 0 {
			more = at / -step
		}
		next := to
		if more < to-from-1 {
			next = from + more + 1
		}
		list = append(list, cut{cell, from, next, at})
		from = next
	}
	return list
}

// each calls do with every combination of one cut an axis, the last axis
// fastest. do must not keep the slice.
func each(axes [][]cut, do func(at []cut) error) error {
	at := make([]cut, len(axes))
	which := make([]int, len(axes))
	for i, list := range axes {
		if len(list) == 0 {
			return nil
		}
		at[i] = list[0]
	}
	for {
		if err := do(at); err != nil {
			return err
		}
		i := len(axes) - 1
		for ; i >= 0; i-- {
			if which[i]++; which[i] < len(axes[i]) {
				at[i] = axes[i][which[i]]
				break
			}
			which[i], at[i] = 0, axes[i][0]
		}
		if i < 0 {
			return nil
		}
	}
}

// number is the place of a cell in C order.
func number(at []cut, grid []int64) int64 {
	n := int64(0)
	for i, c := range at {
		n = n*grid[i] + c.cell
	}
	return n
}
