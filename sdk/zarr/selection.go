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
	runs, counts, err := a.runs(axes)
	if err != nil {
		return nil, err
	}
	size, ok := product(append([]int64{a.meta.elem.size}, counts...)...)
	if err := a.o.Limits.check("selection", size, ok); err != nil {
		return nil, err
	}
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
	err = parallel(int(total), chunksAtOnce, func(k int) error {
		at := make([]int64, len(runs))
		unravel(int64(k), groups, at)
		pick := make([]run, len(runs))
		for i := range at {
			pick[i] = runs[i][at[i]]
		}
		return a.selectBox(ctx, ar, pick, target, o)
	})
	if err != nil || ar == nil {
		return out, err
	}
	return ar.flatten(out, result, a.o.Limits.chunk())
}

// run is what is selected along one axis within one subchunk.
type run struct {
	lo, hi int64   // the bounds of it, in the array
	from   []int64 // elements, counted from lo
	to     []int64 // where they go in the result
}

// contiguous reports whether neighbours in the array are neighbours in the
// result.
func (r run) contiguous() bool {
	for i := 1; i < len(r.from); i++ {
		if r.from[i] != r.from[i-1]+1 || r.to[i] != r.to[i-1]+1 {
			return false
		}
	}
	return true
}

// runs cuts a selection at the edges of subchunks.
func (a *Array) runs(axes []Along) (runs [][]run, counts []int64, err error) {
	if len(axes) != len(a.meta.shape) {
		return nil, nil, fault.New(fault.ErrInvalid, "zarr", "/"+a.path, "selection has "+itoa(int64(len(axes)))+" axes, the array "+itoa(int64(len(a.meta.shape))))
	}
	runs, counts = make([][]run, len(axes)), make([]int64, len(axes))
	for i, s := range axes {
		idx, err := s.indices(a.meta.shape[i])
		if err != nil {
			return nil, nil, err
		}
		counts[i] = int64(len(idx))
		cells := map[int64]int{} // of the subchunk grid, to its run
		for k, x := range idx {
			cell := a.meta.grid.find(i, x)
			if a.shards != nil {
				cell = x / a.subEdge[i]
			}
			at, seen := cells[cell]
			if !seen {
				at = len(runs[i])
				cells[cell] = at
				runs[i] = append(runs[i], run{lo: x, hi: x + 1})
			}
			r := &runs[i][at]
			r.lo, r.hi = min(r.lo, x), max(r.hi, x+1)
			r.from, r.to = append(r.from, x), append(r.to, int64(k)) // from counts from lo in the end
		}
		for k := range runs[i] {
			for j := range runs[i][k].from {
				runs[i][k].from[j] -= runs[i][k].lo
			}
		}
	}
	return runs, counts, nil
}

// indices lists the elements along an axis of n.
func (s Along) indices(n int64) ([]int64, error) {
	if s.Indices != nil {
		for _, x := range s.Indices {
			if x < 0 || x >= n {
				return nil, fault.New(fault.ErrOutOfRange, "zarr", "selection", itoa(x)+" is not in 0.."+itoa(n))
			}
		}
		return s.Indices, nil
	}
	step := max(s.Step, 1)
	if s.Step < 0 {
		return nil, fault.New(fault.ErrInvalid, "zarr", "selection", "a step of "+itoa(s.Step))
	}
	if s.Start < 0 || s.Start > s.Stop || s.Stop > n {
		return nil, fault.New(fault.ErrOutOfRange, "zarr", "selection", itoa(s.Start)+".."+itoa(s.Stop)+" is not within 0.."+itoa(n))
	}
	out := make([]int64, 0, (s.Stop-s.Start+step-1)/step)
	for x := s.Start; x < s.Stop; x += step {
		out = append(out, x)
	}
	return out, nil
}

// selectBox reads the bounds of one combination of runs and copies what is
// selected of them.
func (a *Array) selectBox(ctx context.Context, ar *arena, pick []run, target view, o ReadOptions) error {
	axes := len(pick)
	lo, hi, n := make([]int64, axes), make([]int64, axes), make([]int64, axes)
	for i, r := range pick {
		lo[i], hi[i], n[i] = r.lo, r.hi, int64(len(r.from))
	}
	bounds := extent(lo, hi)
	box := make([]byte, sizeOf(bounds, a.meta.elem.size))
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
			from[i], to[i] = r.from[at[i]], r.to[at[i]]
		}
		copyBox(target.at(to), src.at(from), block, a.meta.elem.size)
	}
	return nil
}
