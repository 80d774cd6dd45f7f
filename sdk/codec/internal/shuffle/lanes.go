package shuffle

// Bits of several lanes at once, sixty-four elements at a time. A word of a
// row has a bit of each. Transposing the squares of bits (bits8) of the eight
// rows of a lane makes words of bytes, word r with every eighth element from r
// on. Words r of several lanes then exchange bytes, so that those of an
// element lie together: in pairs of lanes a word has four elements, 16 apart;
// in fours of lanes two, 32 apart; in eights of lanes one.
//
// Rows often are some power of two apart, so that no cache holds a line of
// all of them: eight rows are worked on, for a line of each, before the next
// eight.
//
// In all of these dst and src begin with the first of the lanes: its rows, of
// n bytes, on one side, its byte of the first element on the other. They leave
// out the last n%8 bytes of each row.

const (
	line = 64 // bytes
	deep = line / 8
)

type words [8]uint64

func (w *words) set(a, b, c, d, e, f, g, h uint64) {
	w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7] = a, b, c, d, e, f, g, h
}

func (w *words) get() (a, b, c, d, e, f, g, h uint64) {
	return w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
}

func split8(dst, src []byte, size, n int) {
	var t [8][deep]words // by lane
	for at := 0; at+8 <= n; at += line {
		count := min(deep, (n-at)/8)
		for i := range count {
			from := src[8*(at+8*i)*size:]
			for r := range 8 {
				a, b, c, d, e, f, g, h := bytes8(loadWords(from[r*size:], 8*size))
				t[0][i][r], t[1][i][r], t[2][i][r], t[3][i][r], t[4][i][r], t[5][i][r], t[6][i][r], t[7][i][r] = a, b, c, d, e, f, g, h
			}
		}
		for k := range 8 {
			storeRows(dst[8*n*k+at:], n, &t[k], count)
		}
	}
}

func join8(dst, src []byte, size, n int) {
	var t [8][deep]words
	for at := 0; at+8 <= n; at += line {
		count := min(deep, (n-at)/8)
		for k := range 8 {
			loadRows(&t[k], src[8*n*k+at:], n, count)
		}
		for i := range count {
			to := dst[8*(at+8*i)*size:]
			for r := range 8 {
				a, b, c, d, e, f, g, h := bytes8(t[0][i][r], t[1][i][r], t[2][i][r], t[3][i][r], t[4][i][r], t[5][i][r], t[6][i][r], t[7][i][r])
				storeWords(to[r*size:], 8*size, a, b, c, d, e, f, g, h)
			}
		}
	}
}

func split4(dst, src []byte, size, n int) {
	var t [4][deep]words
	for at := 0; at+8 <= n; at += line {
		count := min(deep, (n-at)/8)
		for i := range count {
			from := src[8*(at+8*i)*size:]
			for r := range 8 {
				s := from[r*size:]
				s = s[:56*size+4]
				a := uint64(le.Uint32(s)) | uint64(le.Uint32(s[32*size:]))<<32
				b := uint64(le.Uint32(s[8*size:])) | uint64(le.Uint32(s[40*size:]))<<32
				c := uint64(le.Uint32(s[16*size:])) | uint64(le.Uint32(s[48*size:]))<<32
				d := uint64(le.Uint32(s[24*size:])) | uint64(le.Uint32(s[56*size:]))<<32
				t[0][i][r], t[1][i][r], t[2][i][r], t[3][i][r] = bytes4(a, b, c, d)
			}
		}
		for k := range 4 {
			storeRows(dst[8*n*k+at:], n, &t[k], count)
		}
	}
}

func join4(dst, src []byte, size, n int) {
	var t [4][deep]words
	for at := 0; at+8 <= n; at += line {
		count := min(deep, (n-at)/8)
		for k := range 4 {
			loadRows(&t[k], src[8*n*k+at:], n, count)
		}
		for i := range count {
			to := dst[8*(at+8*i)*size:]
			for r := range 8 {
				a, b, c, d := bytes4(t[0][i][r], t[1][i][r], t[2][i][r], t[3][i][r])
				s := to[r*size:]
				s = s[:56*size+4]
				le.PutUint32(s, uint32(a))
				le.PutUint32(s[8*size:], uint32(b))
				le.PutUint32(s[16*size:], uint32(c))
				le.PutUint32(s[24*size:], uint32(d))
				le.PutUint32(s[32*size:], uint32(a>>32))
				le.PutUint32(s[40*size:], uint32(b>>32))
				le.PutUint32(s[48*size:], uint32(c>>32))
				le.PutUint32(s[56*size:], uint32(d>>32))
			}
		}
	}
}

func split2(dst, src []byte, size, n int) {
	var t [2][deep]words
	for at := 0; at+8 <= n; at += line {
		count := min(deep, (n-at)/8)
		for i := range count {
			from := src[8*(at+8*i)*size:]
			for r := range 8 {
				t[0][i][r], t[1][i][r] = swap(load16(from[r*size:], 16*size), load16(from[(r+8)*size:], 16*size), 8, each8)
			}
		}
		for k := range 2 {
			storeRows(dst[8*n*k+at:], n, &t[k], count)
		}
	}
}

func join2(dst, src []byte, size, n int) {
	var t [2][deep]words
	for at := 0; at+8 <= n; at += line {
		count := min(deep, (n-at)/8)
		for k := range 2 {
			loadRows(&t[k], src[8*n*k+at:], n, count)
		}
		for i := range count {
			to := dst[8*(at+8*i)*size:]
			for r := range 8 {
				a, b := swap(t[0][i][r], t[1][i][r], 8, each8)
				store16(to[r*size:], 16*size, a)
				store16(to[(r+8)*size:], 16*size, b)
			}
		}
	}
}

// loadRows makes count words of bytes of the eight rows of a lane.
func loadRows(t *[deep]words, rows []byte, n, count int) {
	for i := range count {
		t[i&(deep-1)].set(bits8(loadWords(rows[8*i:], n)))
	}
}

// storeRows is the inverse of loadRows.
func storeRows(rows []byte, n int, t *[deep]words, count int) {
	for i := range count {
		a, b, c, d, e, f, g, h := bits8(t[i&(deep-1)].get())
		storeWords(rows[8*i:], n, a, b, c, d, e, f, g, h)
	}
}

// load16 returns the four parts of two bytes that begin step bytes apart.
func load16(s []byte, step int) uint64 {
	s = s[:3*step+2]
	return uint64(le.Uint16(s)) | uint64(le.Uint16(s[step:]))<<16 | uint64(le.Uint16(s[2*step:]))<<32 | uint64(le.Uint16(s[3*step:]))<<48
}

// store16 is the inverse of load16.
func store16(s []byte, step int, x uint64) {
	s = s[:3*step+2]
	le.PutUint16(s, uint16(x))
	le.PutUint16(s[step:], uint16(x>>16))
	le.PutUint16(s[2*step:], uint16(x>>32))
	le.PutUint16(s[3*step:], uint16(x>>48))
}
