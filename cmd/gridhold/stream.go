package main

import (
	"context"
	"io"
	"slices"
)

// inMemory is how many bytes of elements read holds at once.
const inMemory = 32 << 20

// stream writes the elements of [start, stop) in C order, at most slab bytes
// at a time: as many rows of subchunks as fit. Where not even one row of subchunks
// does, it goes along the next axis, which reads those subchunks more than
// once: time is paid for memory.
func stream(ctx context.Context, a array, w io.Writer, start, stop []int64, slab int64) error {
	d := a.shape()
	if slices.Contains(shapeOf(start, stop), 0) {
		return nil
	}
	axis := slices.IndexFunc(shapeOf(start, stop), func(n int64) bool { return n > 1 })
	if axis < 0 || d.bytes(shapeOf(start, stop)) <= slab {
		elements, err := a.region(ctx, start, stop)
		if err != nil {
			return err
		}
		_, err = w.Write(elements)
		return err
	}
	edge := int64(1)
	if d.SubchunkShape != nil { // nil: chunks of many shapes
		edge = d.SubchunkShape[axis]
	}
	row := d.bytes(shapeOf(start[axis+1:], stop[axis+1:])) // of one step along axis
	step := slab / row / edge * edge
	if step == 0 {
		step = max(1, slab/row)
	}
	from, to := slices.Clone(start), slices.Clone(stop)
	for from[axis] < stop[axis] {
		next := from[axis] + step
		if step >= edge {
			next = next / edge * edge // whole subchunks from the second slab on
		}
		to[axis] = min(next, stop[axis])
		if err := stream(ctx, a, w, from, to, slab); err != nil {
			return err
		}
		from[axis] = to[axis]
	}
	return nil
}
