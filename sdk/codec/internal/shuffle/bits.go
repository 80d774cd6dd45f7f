package shuffle

// A lane is the bytes of equal significance. Its bits lie in eight rows: row b
// has bit b of each of its bytes, eight bytes' bits to a byte, the first one
// lowest.

// Bits writes the bits of src to dst, those of equal significance together.
// The number of whole elements must be a multiple of 8; what is left over
// after them is copied as it is. dst and tmp have at least the length of src.
func Bits(dst, src []byte, size int, tmp []byte) {
	n := len(src) / size / 8 // bytes of a row
	copy(dst[8*n*size:len(src)], src[8*n*size:])
	if n == 0 {
		return
	}
	if quick {
		if size > 1 {
			Bytes(tmp, src[:8*n*size], size)
			src = tmp
		}
		for at := 0; at < 8*n*size; at += 8 * n {
			split(dst[at:at+8*n], src[at:at+8*n])
		}
		return
	}
	lane, pairs := 0, size&^1
	for ; pairs-lane >= 8; lane += 8 {
		split8(dst[8*n*lane:], src[lane:], size, n)
	}
	for ; pairs-lane >= 4; lane += 4 {
		split4(dst[8*n*lane:], src[lane:], size, n)
	}
	for ; lane < pairs; lane += 2 {
		split2(dst[8*n*lane:], src[lane:], size, n)
	}
	splitRest(dst, src, pairs, size, n)
	if lane == size {
		return
	}
	bytes := src
	if size > 1 {
		bytes = tmp[:8*n]
		for i := range bytes {
			bytes[i] = src[i*size+lane]
		}
	}
	split(dst[8*n*lane:8*n*size], bytes[:8*n])
}

// UndoBits is the inverse of Bits.
func UndoBits(dst, src []byte, size int, tmp []byte) {
	n := len(src) / size / 8
	copy(dst[8*n*size:len(src)], src[8*n*size:])
	if n == 0 {
		return
	}
	if quick {
		lanes := dst
		if size > 1 {
			lanes = tmp
		}
		for at := 0; at < 8*n*size; at += 8 * n {
			join(lanes[at:at+8*n], src[at:at+8*n])
		}
		if size > 1 {
			UndoBytes(dst, lanes[:8*n*size], size)
		}
		return
	}
	lane, pairs := 0, size&^1
	for ; pairs-lane >= 8; lane += 8 {
		join8(dst[lane:], src[8*n*lane:], size, n)
	}
	for ; pairs-lane >= 4; lane += 4 {
		join4(dst[lane:], src[8*n*lane:], size, n)
	}
	for ; lane < pairs; lane += 2 {
		join2(dst[lane:], src[8*n*lane:], size, n)
	}
	joinRest(dst, src, pairs, size, n)
	if lane == size {
		return
	}
	bytes := dst
	if size > 1 {
		bytes = tmp
	}
	bytes = bytes[:8*n]
	join(bytes, src[8*n*lane:8*n*size])
	if size > 1 {
		for i, b := range bytes {
			dst[i*size+lane] = b
		}
	}
}

// split makes eight rows of a lane.
func split(rows, lane []byte) {
	n := len(lane) / 8
	i := quickSplit(rows, lane, n)
	var t [line]byte
	for ; i+8 <= n; i += 8 {
		bytes8(t[:], 8, lane[8*i:], 8)
		storeBits(rows[i:], n, &t)
	}
	for ; i < n; i++ {
		splitSquare(rows[i:], n, le.Uint64(lane[8*i:]))
	}
}

// join makes a lane of eight rows.
func join(lane, rows []byte) {
	n := len(lane) / 8
	i := quickJoin(lane, rows, n)
	var t [line]byte
	for ; i+8 <= n; i += 8 {
		loadBits(&t, rows[i:], n)
		bytes8(lane[8*i:], 8, t[:], 8)
	}
	for ; i < n; i++ {
		le.PutUint64(lane[8*i:], joinSquare(rows[i:], n))
	}
}

// splitSquare writes the bits of eight bytes to the first bytes of rows.
func splitSquare(rows []byte, n int, x uint64) {
	x = square(x)
	for b := range 8 {
		rows[b*n] = byte(x >> (8 * b))
	}
}

// joinSquare is the eight bytes of which the first bytes of rows have the bits.
func joinSquare(rows []byte, n int) uint64 {
	var x uint64
	for b := range 8 {
		x |= uint64(rows[b*n]) << (8 * b)
	}
	return square(x)
}

// splitRest makes the last bytes of the rows of some lanes, fewer than eight
// of each row.
func splitRest(dst, src []byte, lanes, size, n int) {
	for i := n &^ 7; i < n; i++ {
		for lane := range lanes {
			var x uint64
			for k := range 8 {
				x |= uint64(src[(8*i+k)*size+lane]) << (8 * k)
			}
			splitSquare(dst[8*n*lane+i:], n, x)
		}
	}
}

// joinRest is the inverse of splitRest.
func joinRest(dst, src []byte, lanes, size, n int) {
	for i := n &^ 7; i < n; i++ {
		for lane := range lanes {
			x := joinSquare(src[8*n*lane+i:], n)
			for k := range 8 {
				dst[(8*i+k)*size+lane] = byte(x >> (8 * k))
			}
		}
	}
}
