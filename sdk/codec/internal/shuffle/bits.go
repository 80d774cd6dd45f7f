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
	r := parts(rows, n)
	i := 0
	for ; i+8 <= n; i += 8 {
		from := lane[8*i : 8*i+64]
		a, b, c, d, e, f, g, h := bits8(bytes8(loadWords(from, 8)))
		storeParts(r, i, a, b, c, d, e, f, g, h)
	}
	for ; i < n; i++ {
		x := square(le.Uint64(lane[8*i:]))
		for b := range 8 {
			r[b][i] = byte(x >> (8 * b))
		}
	}
}

// join makes a lane of eight rows.
func join(lane, rows []byte) {
	n := len(lane) / 8
	r := parts(rows, n)
	i := 0
	for ; i+8 <= n; i += 8 {
		a, b, c, d, e, f, g, h := bytes8(bits8(loadParts(r, i)))
		storeWords(lane[8*i:], 8, a, b, c, d, e, f, g, h)
	}
	for ; i < n; i++ {
		var x uint64
		for b := range 8 {
			x |= uint64(r[b][i]) << (8 * b)
		}
		le.PutUint64(lane[8*i:], square(x))
	}
}
