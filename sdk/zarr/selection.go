package zarr

import (
	"context"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Along says which elements along one axis: every Step-th from Start to Stop
// (exclusive), or those of Indices, in any order and as often as they occur.
type Along struct {
	Start, Stop int64
	Step        int64   // 0: 1
	Indices     []int64 // not nil: these; the other fields must be zero
}

// RetrieveSelection returns the elements at every combination of what is
// selected along each axis: C order, little endian, of the shape that the
// counts make. Only subchunks that hold some of them are read. Errors are
// those of RetrieveRegion, and ErrInvalid for a step below 1.
func (a *Array) RetrieveSelection(ctx context.Context, axes []Along, o ReadOptions) ([]byte, error) {
	if err := o.Cache.check(a); err != nil {
		return nil, err
	}
	counts, err := a.counts(axes)
	if err != nil {
		return nil, err
	}
	size, ok := product(append([]int64{a.meta.elem.size}, counts...)...)
	if err := a.o.Limits.check("selection", size, ok); err != nil {
		return nil, err
	}
	if size == 0 {
		return buffer(o.Dst, 0), nil
	}
	runs := a.runs(axes, counts)
	ar := newArena(a.meta.elem.variable, a.meta.fill)
	result, dst := o.Dst, o.Dst
	if ar != nil {
		dst = nil // for the cells; the elements go there in the end
	}
	out := buffer(dst, size)
	if o.Cache == nil {
		o.Cache = a.ShardCache(CacheOptions{})
	}
	groups := make([]int64, len(runs))
	for i := range runs {
		groups[i] = int64(len(runs[i]))
	}
	total, _ := product(groups...)
	target := cOrder(out, counts, a.meta.elem.size)
	err = parallel(int(total), a.atOnce(), func(k int) error {
		at := make([]int64, len(runs))
		unravel(int64(k), groups, at)
		pick := make([]run, len(runs))
		for i := range at {
			pick[i] = runs[i][at[i]]
		}
		return a.selectBox(ctx, ar, pick, target, o)
	})
	if err != nil {
		return nil, err
	}
	if ar == nil {
		return out, nil
	}
	return ar.flatten(out, result, a.o.Limits.chunk())
}

// run is what is selected along one axis within one subchunk: n elements.
type run struct {
	lo, hi, n int64 // the bounds of it, in the array
	step, at  int64 // without lists: how far apart they are, and where the first goes in the result
	from, to  []int64
}

// place is where element k of a run is, counted from lo, and where it goes in
// the result.
func (r run) place(k int64) (from, to int64) {
	if r.from == nil {
		return k * r.step, r.at + k
	}
	return r.from[k], r.to[k]
}

// contiguous reports whether neighbours in the array are neighbours in the
// result.
func (r run) contiguous() bool {
	if r.from == nil {
		return r.step == 1 || r.n == 1
	}
	for i := 1; i < len(r.from); i++ {
		if r.from[i] != r.from[i-1]+1 || r.to[i] != r.to[i-1]+1 {
			return false
		}
	}
	return true
}

// counts checks a selection, and counts its elements along each axis.
func (a *Array) counts(axes []Along) ([]int64, error) {
	if len(axes) != len(a.meta.shape) {
		return nil, fault.New(fault.ErrInvalid, "zarr", "/"+a.path, "selection has "+itoa(int64(len(axes)))+" axes, the array "+itoa(int64(len(a.meta.shape))))
	}
	counts := make([]int64, len(axes))
	for i, s := range axes {
		var err error
		if counts[i], err = s.count(a.meta.shape[i]); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// count checks what is selected of an axis of n elements, and counts it.
func (s Along) count(n int64) (int64, error) {
	for _, x := range s.Indices {
		if x < 0 || x >= n {
			return 0, fault.New(fault.ErrOutOfRange, "zarr", "selection", itoa(x)+" is not in 0.."+itoa(n))
		}
	}
	switch {
	case s.Indices != nil:
		return int64(len(s.Indices)), nil
	case s.Step < 0:
		return 0, fault.New(fault.ErrInvalid, "zarr", "selection", "a step of "+itoa(s.Step))
	case s.Start < 0 || s.Start > s.Stop || s.Stop > n:
		return 0, fault.New(fault.ErrOutOfRange, "zarr", "selection", itoa(s.Start)+".."+itoa(s.Stop)+" is not within 0.."+itoa(n))
	case s.Start == s.Stop:
		return 0, nil
	}
	return (s.Stop-s.Start-1)/max(s.Step, 1) + 1, nil
}

// runs cuts a selection at the edges of subchunks. Steps are not written out:
// the elements of a selection may be many more than its runs.
func (a *Array) runs(axes []Along, counts []int64) [][]run {
	runs := make([][]run, len(axes))
	for i, s := range axes {
		if s.Indices != nil {
			runs[i] = a.listed(i, s.Indices)
			continue
		}
		step := max(s.Step, 1)
		for x, done := s.Start, int64(0); done < counts[i]; {
			_, end := a.cell(i, x)
			n := min((end-1-x)/step+1, counts[i]-done)
			last := x + (n-1)*step
			runs[i] = append(runs[i], run{lo: x, hi: last + 1, n: n, step: step, at: done})
			x, done = last+step, done+n // x passes 2^63 only when it is not used again
		}
	}
	return runs
}

// cell is the subchunk along an axis that holds element x, and the end of what
// it holds of the array.
func (a *Array) cell(axis int, x int64) (cell, end int64) {
	var origin, edge int64
	if a.shards != nil {
		edge = a.subEdge[axis]
		cell = x / edge
		origin = cell * edge
	} else {
		g := a.meta.grid
		cell = g.find(axis, x)
		origin = g.origin(axis, cell)
		edge = g.origin(axis, cell+1) - origin
	}
	return cell, origin + min(edge, a.meta.shape[axis]-origin)
}

// listed are the runs of indices in any order.
func (a *Array) listed(axis int, indices []int64) []run {
	var runs []run
	cells := map[int64]int{} // to its run
	for k, x := range indices {
		cell, _ := a.cell(axis, x)
		at, seen := cells[cell]
		if !seen {
			at = len(runs)
			cells[cell] = at
			runs = append(runs, run{lo: x, hi: x + 1})
		}
		r := &runs[at]
		r.lo, r.hi, r.n = min(r.lo, x), max(r.hi, x+1), r.n+1
		r.from, r.to = append(r.from, x), append(r.to, int64(k)) // from counts from lo in the end
	}
	for _, r := range runs {
		for j := range r.from {
			r.from[j] -= r.lo
		}
	}
	return runs
}

// selectBox reads the bounds of one combination of runs and copies what is
// selected of them.
func (a *Array) selectBox(ctx context.Context, ar *arena, pick []run, target view, o ReadOptions) error {
	axes := len(pick)
	lo, hi, n := make([]int64, axes), make([]int64, axes), make([]int64, axes)
	for i, r := range pick {
		lo[i], hi[i], n[i] = r.lo, r.hi, r.n
	}
	bounds := extent(lo, hi)
	size, ok := product(append([]int64{a.meta.elem.size}, bounds...)...)
	if err := a.o.Limits.check("selection within a subchunk", size, ok); err != nil {
		return err
	}
	box := make([]byte, size)
	if err := a.fillView(ctx, ar, lo, hi, cOrder(box, bounds, a.meta.elem.size), o); err != nil {
		return err
	}
	src := cOrder(box, bounds, a.meta.elem.size)
	block := make([]int64, axes) // what one copy moves
	for i := range block {
		block[i] = 1
	}
	if last := axes - 1; axes > 0 && pick[last].contiguous() {
		block[last], n[last] = n[last], 1
	}
	total, _ := product(n...)
	at := make([]int64, axes)
	from, to := make([]int64, axes), make([]int64, axes)
	for k := range total {
		unravel(k, n, at)
		for i, r := range pick {
			from[i], to[i] = r.place(at[i])
		}
		copyBox(target.at(to), src.at(from), block, a.meta.elem.size)
	}
	return nil
}
