package zarr

import (
	"math/bits"
	"strconv"
	"strings"
)

// product multiplies sizes that are not negative; ok is false if it does not
// fit in 63 bits. The product of nothing is 1.
func product(ns ...int64) (p int64, ok bool) {
	p = 1
	for _, n := range ns {
		if n == 0 {
			return 0, true
		}
	}
	for _, n := range ns {
		hi, lo := bits.Mul64(uint64(p), uint64(n))
		if hi != 0 || lo > 1<<63-1 {
			return 0, false
		}
		p = int64(lo)
	}
	return p, true
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// gridShape counts the blocks of a shape, per axis.
func gridShape(shape, block []int64) []int64 {
	g := make([]int64, len(shape))
	for i, n := range shape {
		if n > 0 {
			g[i] = (n-1)/block[i] + 1
		}
	}
	return g
}

// linear is the C-order position of idx in a grid.
func linear(idx, grid []int64) int64 {
	var n int64
	for i, x := range idx {
		n = n*grid[i] + x
	}
	return n
}

// unravel is the inverse of linear; it writes into idx.
func unravel(n int64, grid, idx []int64) {
	for i := len(grid) - 1; i >= 0; i-- {
		idx[i] = n % grid[i]
		n /= grid[i]
	}
}

// inside reports whether idx lies in a grid.
func inside(idx, grid []int64) bool {
	for i, x := range idx {
		if x < 0 || x >= grid[i] {
			return false
		}
	}
	return true
}

// permute returns v with axis i taken from axis order[i]; a nil order changes
// nothing and copies nothing.
func permute(v []int64, order []int) []int64 {
	if order == nil {
		return v
	}
	out := make([]int64, len(v))
	for i, o := range order {
		out[i] = v[o]
	}
	return out
}

// invert returns the inverse of a permutation.
func invert(order []int) []int {
	if order == nil {
		return nil
	}
	inv := make([]int, len(order))
	for i, o := range order {
		inv[o] = i
	}
	return inv
}

// tuple prints indices for people.
func tuple(v []int64) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, x := range v {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(x, 10))
	}
	b.WriteByte(')')
	return b.String()
}

// itoa is for error texts, of which there are many.
//
//go:noinline
func itoa(n int64) string { return strconv.FormatInt(n, 10) }
