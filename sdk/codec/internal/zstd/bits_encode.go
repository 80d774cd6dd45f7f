package zstd

// backward writes bits, each number with its lowest bit first; a reader takes
// them from the end. See bits.go.
type backward struct {
	out  []byte // has room for what is written, and 8 bytes
	at   int
	acc  uint64
	fill uint // bits of acc that are in use
}

// add adds the n low bits of v, above which v is zero. At most 57 bits come
// between two calls of flush.
func (w *backward) add(v uint64, n uint) {
	w.acc |= v << (w.fill & 63)
	w.fill += n
}

// flush writes whole bytes: fewer than 8 bits are left.
func (w *backward) flush() {
	le.PutUint64(w.out[w.at:], w.acc)
	w.at += int(w.fill >> 3)
	w.acc >>= w.fill & 56
	w.fill &= 7
}

// end writes the mark of the end and returns how many bytes there are.
func (w *backward) end() int {
	w.add(1, 1)
	w.flush()
	if w.fill > 0 {
		w.at++
	}
	return w.at
}
