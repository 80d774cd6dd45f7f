package zarr

// view is a block of elements in memory: where its first element lies and
// how far apart neighbours are, in bytes.
type view struct {
	buf    []byte
	off    int64
	stride []int64
}

// fewAxes is how many axes have room on the stack, where it matters.
const fewAxes = 8

// cOrder is a view of a whole buffer in C order.
func cOrder(buf []byte, shape []int64, item int64) view {
	return view{buf: buf, stride: cStrides(make([]int64, 0, len(shape)), shape, item)}
}

// cStrides appends the strides of C order.
func cStrides(s, shape []int64, item int64) []int64 {
	s = append(s, shape...)
	step := item
	for i := len(shape) - 1; i >= 0; i-- {
		s[i], step = step, step*shape[i]
	}
	return s
}

// at is the same view with its first element moved to idx.
func (v view) at(idx []int64) view {
	for i, x := range idx {
		v.off += x * v.stride[i]
	}
	return v
}

// permute is the view with axis i taken from axis order[i]: a transposition
// without moving a byte.
func (v view) permute(order []int) view {
	v.stride = permute(v.stride, order)
	return v
}

// copyBox copies a block of n elements per axis, item bytes each.
func copyBox(dst, src view, n []int64, item int64) {
	for _, x := range n {
		if x == 0 {
			return
		}
	}
	// Axes at the end over which both sides are contiguous make one run.
	run, axes := item, len(n)
	for axes > 0 && dst.stride[axes-1] == run && src.stride[axes-1] == run {
		run *= n[axes-1]
		axes--
	}
	if axes == 0 {
		copy(dst.buf[dst.off:dst.off+run], src.buf[src.off:src.off+run])
		return
	}
	last := axes - 1
	var few [fewAxes]int64
	idx := few[:min(last, fewAxes)]
	if last > fewAxes {
		idx = make([]int64, last)
	}
	for {
		copyRuns(dst, src, n[last], dst.stride[last], src.stride[last], run)
		axis := last - 1
		for ; axis >= 0; axis-- {
			dst.off += dst.stride[axis]
			src.off += src.stride[axis]
			if idx[axis]++; idx[axis] < n[axis] {
				break
			}
			dst.off -= dst.stride[axis] * n[axis]
			src.off -= src.stride[axis] * n[axis]
			idx[axis] = 0
		}
		if axis < 0 {
			return
		}
	}
}

// copyRuns copies count runs along one axis.
func copyRuns(dst, src view, count, dstStep, srcStep, run int64) {
	d, s := dst.off, src.off
	if run == 1 { // a byte at a time: copy's call would cost more than it moves
		for range count {
			dst.buf[d] = src.buf[s]
			d += dstStep
			s += srcStep
		}
		return
	}
	for range count {
		copy(dst.buf[d:d+run], src.buf[s:s+run])
		d += dstStep
		s += srcStep
	}
}

// fillAll repeats one element over a buffer.
func fillAll(buf, fill []byte) {
	if len(buf) == 0 {
		return
	}
	if allZero(fill) {
		clear(buf)
		return
	}
	n := copy(buf, fill)
	for n < len(buf) {
		n += copy(buf[n:], buf[:n])
	}
}

// fillBox repeats one element over a block of n elements per axis.
func fillBox(dst view, n []int64, fill []byte) {
	// A source whose strides are zero is the same element everywhere.
	copyBox(dst, view{buf: fill, stride: make([]int64, len(n))}, n, int64(len(fill)))
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
