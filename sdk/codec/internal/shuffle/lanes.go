package shuffle

// Bits of several lanes at once, sixty-four elements at a time. A word of a
// row has a bit of each. Transposing the squares of bits (loadBits) of the eight
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
	line  = 64       // bytes
	depth = 8 * line // of the words of one lane
)

func split8(dst, src []byte, size, n int) {
	var t [8 * depth]byte // words by lane
	for at := 0; at+8 <= n; at += line {
		count := min(8, (n-at)/8)
		for i := range count {
			from := src[8*(at+8*i)*size:]
			for r := range 8 {
				bytes8(t[line*i+8*r:], depth, from[r*size:], 8*size)
			}
		}
		storeRows(dst[at:], t[:], n, count)
	}
}

func join8(dst, src []byte, size, n int) {
	var t [8 * depth]byte
	for at := 0; at+8 <= n; at += line {
		count := min(8, (n-at)/8)
		loadRows(t[:], src[at:], n, count)
		for i := range count {
			to := dst[8*(at+8*i)*size:]
			for r := range 8 {
				bytes8(to[r*size:], 8*size, t[line*i+8*r:], depth)
			}
		}
	}
}

func split4(dst, src []byte, size, n int) {
	var t [4 * depth]byte
	for at := 0; at+8 <= n; at += line {
		count := min(8, (n-at)/8)
		for i := range count {
			from := src[8*(at+8*i)*size:]
			for r := range 8 {
				bytes4(t[line*i+8*r:], depth, from[r*size:], 8*size)
			}
		}
		storeRows(dst[at:], t[:], n, count)
	}
}

func join4(dst, src []byte, size, n int) {
	var t [4 * depth]byte
	for at := 0; at+8 <= n; at += line {
		count := min(8, (n-at)/8)
		loadRows(t[:], src[at:], n, count)
		for i := range count {
			to := dst[8*(at+8*i)*size:]
			for r := range 8 {
				undo4(to[r*size:], 8*size, t[line*i+8*r:], depth)
			}
		}
	}
}

func split2(dst, src []byte, size, n int) {
	var t [2 * depth]byte
	for at := 0; at+8 <= n; at += line {
		count := min(8, (n-at)/8)
		for i := range count {
			from := src[8*(at+8*i)*size:]
			for r := range 8 {
				bytes2(t[line*i+8*r:], depth, from[r*size:], 8*size)
			}
		}
		storeRows(dst[at:], t[:], n, count)
	}
}

func join2(dst, src []byte, size, n int) {
	var t [2 * depth]byte
	for at := 0; at+8 <= n; at += line {
		count := min(8, (n-at)/8)
		loadRows(t[:], src[at:], n, count)
		for i := range count {
			to := dst[8*(at+8*i)*size:]
			for r := range 8 {
				undo2(to[r*size:], 8*size, t[line*i+8*r:], depth)
			}
		}
	}
}

// loadRows makes words of bytes of the eight rows of each lane, count times
// eight of them.
func loadRows(t, rows []byte, n, count int) {
	for k := range len(t) / depth {
		for i := range count {
			loadBits((*[line]byte)(t[depth*k+line*i:]), rows[8*n*k+8*i:], n)
		}
	}
}

// storeRows is the inverse of loadRows.
func storeRows(rows, t []byte, n, count int) {
	for k := range len(t) / depth {
		for i := range count {
			storeBits(rows[8*n*k+8*i:], n, (*[line]byte)(t[depth*k+line*i:]))
		}
	}
}
