package shuffle

// Kernels of assembly, for NEON. Each does the first count elements, or bytes
// of a lane: more than none, a multiple of 16, of 128 in splitNEON and
// joinNEON. Rows are pitch bytes apart. The functions below call them for as
// much as they can do, as those of kernels_amd64.go do.

// quick is true, since every arm64 has NEON, but where tests look at the loops
// in Go.
var quick = true

//go:noescape
func split2NEON(rows, elements *byte, pitch, count int)

//go:noescape
func join2NEON(elements, rows *byte, pitch, count int)

//go:noescape
func split4NEON(rows, elements *byte, pitch, count int)

//go:noescape
func join4NEON(elements, rows *byte, pitch, count int)

// split4ofNEON is split4NEON for four bytes of elements of size.
//
//go:noescape
func split4ofNEON(rows, elements *byte, pitch, count, size int)

//go:noescape
func join4ofNEON(elements, rows *byte, pitch, count, size int)

//go:noescape
func split8NEON(rows, elements *byte, pitch, count int)

//go:noescape
func join8NEON(elements, rows *byte, pitch, count int)

// split8ofNEON is split8NEON for eight bytes of elements of size.
//
//go:noescape
func split8ofNEON(rows, elements *byte, pitch, count, size int)

//go:noescape
func join8ofNEON(elements, rows *byte, pitch, count, size int)

// splitNEON writes the bits of a lane to eight rows.
//
//go:noescape
func splitNEON(rows, lane *byte, pitch, count int)

//go:noescape
func joinNEON(lane, rows *byte, pitch, count int)

func quickSplit2(dst, src []byte, count int) int {
	n := count &^ 15
	if !quick || n == 0 {
		return 0
	}
	_, _ = dst[2*count-1], src[2*count-1]
	split2NEON(&dst[0], &src[0], count, n)
	return n
}

func quickJoin2(dst, src []byte, count int) int {
	n := count &^ 15
	if !quick || n == 0 {
		return 0
	}
	_, _ = dst[2*count-1], src[2*count-1]
	join2NEON(&dst[0], &src[0], count, n)
	return n
}

func quickSplit4(dst, src []byte, size, count int) int {
	n := count &^ 15
	if !quick || n == 0 {
		return 0
	}
	_, _ = dst[4*count-1], src[(count-1)*size+3]
	if size == 4 {
		split4NEON(&dst[0], &src[0], count, n)
	} else {
		split4ofNEON(&dst[0], &src[0], count, n, size)
	}
	return n
}

func quickJoin4(dst, src []byte, size, count int) int {
	n := count &^ 15
	if !quick || n == 0 {
		return 0
	}
	_, _ = dst[(count-1)*size+3], src[4*count-1]
	if size == 4 {
		join4NEON(&dst[0], &src[0], count, n)
	} else {
		join4ofNEON(&dst[0], &src[0], count, n, size)
	}
	return n
}

func quickSplit8(dst, src []byte, size, count int) int {
	n := count &^ 15
	if !quick || n == 0 {
		return 0
	}
	_, _ = dst[8*count-1], src[(count-1)*size+7]
	if size == 8 {
		split8NEON(&dst[0], &src[0], count, n)
	} else {
		split8ofNEON(&dst[0], &src[0], count, n, size)
	}
	return n
}

func quickJoin8(dst, src []byte, size, count int) int {
	n := count &^ 15
	if !quick || n == 0 {
		return 0
	}
	_, _ = dst[(count-1)*size+7], src[8*count-1]
	if size == 8 {
		join8NEON(&dst[0], &src[0], count, n)
	} else {
		join8ofNEON(&dst[0], &src[0], count, n, size)
	}
	return n
}

func quickSplit(rows, lane []byte, n int) int {
	done := n &^ 15
	if !quick || done == 0 {
		return 0
	}
	_, _ = rows[8*n-1], lane[8*n-1]
	splitNEON(&rows[0], &lane[0], n, 8*done)
	return done
}

func quickJoin(lane, rows []byte, n int) int {
	done := n &^ 15
	if !quick || done == 0 {
		return 0
	}
	_, _ = lane[8*n-1], rows[8*n-1]
	joinNEON(&lane[0], &rows[0], n, 8*done)
	return done
}
