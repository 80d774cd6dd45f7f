package shuffle

// Bits are shuffled in two steps: bytes into lanes of equal significance, and
// each lane into eight rows, row b with bit b of each of its bytes, eight
// bytes' bits to a byte, the first one lowest.

// Bits writes the bits of src to dst, those of equal significance together.
// The number of whole elements must be a multiple of 8; what is left over
// after them is copied as it is. dst and tmp have at least the length of src.
func Bits(dst, src []byte, size int, tmp []byte) {
	Bytes(tmp, src, size)
	count := len(src) / size
	for k := range size {
		split(dst[k*count:(k+1)*count], tmp[k*count:(k+1)*count])
	}
	copy(dst[count*size:len(src)], src[count*size:])
}

// UndoBits is the inverse of Bits.
func UndoBits(dst, src []byte, size int, tmp []byte) {
	count := len(src) / size
	if size == 1 {
		tmp = dst // one lane is the elements already
	}
	for k := range size {
		join(tmp[k*count:(k+1)*count], src[k*count:(k+1)*count])
	}
	copy(tmp[count*size:len(src)], src[count*size:])
	if size > 1 {
		UndoBytes(dst, tmp[:len(src)], size)
	}
}

// split makes eight rows of a lane.
func split(rows, lane []byte) {
	n := len(lane) / 8
	for g := range n {
		x := bits8(le.Uint64(lane[8*g:]))
		for b := range 8 {
			rows[b*n+g] = byte(x >> (8 * b))
		}
	}
}

// join makes a lane of eight rows: 8x8 bytes at a time, then bit by bit what
// is left.
func join(lane, rows []byte) {
	n := len(lane) / 8
	g := 0
	for ; g+8 <= n; g += 8 {
		var w [8]uint64
		for b := range w {
			w[b] = le.Uint64(rows[b*n+g:])
		}
		bytes8(&w)
		to := lane[8*g : 8*g+64]
		for i := range w {
			le.PutUint64(to[8*i:], bits8(w[i]))
		}
	}
	for ; g < n; g++ {
		var x uint64
		for b := range 8 {
			x |= uint64(rows[b*n+g]) << (8 * b)
		}
		le.PutUint64(lane[8*g:], bits8(x))
	}
}
