package shuffle

// Kernels of assembly, for processors that have AVX2. Each does the first
// count elements, or bytes of a lane: more than none, a multiple of 32, of 256
// in joinAVX2. Rows are pitch bytes apart. The functions below call them for
// as much as they can do, and return how much that is: the loops in Go go on
// from there.

var quick = hasAVX2()

// hasAVX2 reports whether processor and system do.
func hasAVX2() bool

//go:noescape
func split2AVX2(rows, elements *byte, pitch, count int)

//go:noescape
func join2AVX2(elements, rows *byte, pitch, count int)

//go:noescape
func split4AVX2(rows, elements *byte, pitch, count int)

//go:noescape
func join4AVX2(elements, rows *byte, pitch, count int)

// split4ofAVX2 is split4AVX2 for four bytes of elements of size.
//
//go:noescape
func split4ofAVX2(rows, elements *byte, pitch, count, size int)

//go:noescape
func join4ofAVX2(elements, rows *byte, pitch, count, size int)

// splitAVX2 writes the bits of a lane to eight rows.
//
//go:noescape
func splitAVX2(rows, lane *byte, pitch, count int)

//go:noescape
func joinAVX2(lane, rows *byte, pitch, count int)

// wide is for processors that have AVX-512 with instructions for bytes.
var wide = hasAVX512()

// hasAVX512 reports whether processor and system do.
func hasAVX512() bool

// splitAVX512 is splitAVX2 for a count that is a multiple of 64.
//
//go:noescape
func splitAVX512(rows, lane *byte, pitch, count int)

// quickSplit2 begins part2 of count elements; rows are in dst.
func quickSplit2(dst, src []byte, count int) int {
	n := count &^ 31
	if !quick || n == 0 {
		return 0
	}
	_, _ = dst[2*count-1], src[2*count-1]
	split2AVX2(&dst[0], &src[0], count, n)
	return n
}

// quickJoin2 begins merge2.
func quickJoin2(dst, src []byte, count int) int {
	n := count &^ 31
	if !quick || n == 0 {
		return 0
	}
	_, _ = dst[2*count-1], src[2*count-1]
	join2AVX2(&dst[0], &src[0], count, n)
	return n
}

// quickSplit4 begins four lanes of count elements; src begins with their bytes
// of the first element.
func quickSplit4(dst, src []byte, size, count int) int {
	n := count &^ 31
	if !quick || n == 0 {
		return 0
	}
	_, _ = dst[4*count-1], src[(count-1)*size+3]
	if size == 4 {
		split4AVX2(&dst[0], &src[0], count, n)
	} else {
		split4ofAVX2(&dst[0], &src[0], count, n, size)
	}
	return n
}

// quickJoin4 is the inverse of quickSplit4.
func quickJoin4(dst, src []byte, size, count int) int {
	n := count &^ 31
	if !quick || n == 0 {
		return 0
	}
	_, _ = dst[(count-1)*size+3], src[4*count-1]
	if size == 4 {
		join4AVX2(&dst[0], &src[0], count, n)
	} else {
		join4ofAVX2(&dst[0], &src[0], count, n, size)
	}
	return n
}

// quickSplit8 begins eight lanes: twice four.
func quickSplit8(dst, src []byte, size, count int) int {
	quickSplit4(dst, src, size, count)
	return quickSplit4(dst[4*count:], src[4:], size, count)
}

// quickJoin8 is the inverse of quickSplit8.
func quickJoin8(dst, src []byte, size, count int) int {
	quickJoin4(dst, src, size, count)
	return quickJoin4(dst[4:], src[4*count:], size, count)
}

// quickSplit begins eight rows of n bytes of the bits of a lane. It returns
// how many bytes of each it wrote.
func quickSplit(rows, lane []byte, n int) int {
	done := n &^ 3
	if !quick || done == 0 {
		return 0
	}
	_, _ = rows[8*n-1], lane[8*n-1]
	at := 0
	if wide {
		if at = n &^ 7; at > 0 {
			splitAVX512(&rows[0], &lane[0], n, 8*at)
		}
	}
	if at < done {
		splitAVX2(&rows[at], &lane[8*at], n, 8*(done-at))
	}
	return done
}

// quickJoin is the inverse of quickSplit.
func quickJoin(lane, rows []byte, n int) int {
	done := n &^ 31
	if !quick || done == 0 {
		return 0
	}
	_, _ = lane[8*n-1], rows[8*n-1]
	joinAVX2(&lane[0], &rows[0], n, 8*done)
	return done
}
