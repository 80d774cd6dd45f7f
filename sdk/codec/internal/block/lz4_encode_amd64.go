package block

// Where the next sequence begins is known when this one's length is, so a search
// takes as long as a chain of loads and a multiplication. In Go it is longer:
// there are more variables than registers. The kernels, which every processor
// of this kind runs, write what fast does, byte by byte.

// lz4Walk is where a search is.
type lz4Walk struct {
	at, from, out int // position, where the literals begin, bytes that were written
	step, missed  int // to the next position, 0 where a match ends; and what makes it longer
}

//go:noescape
func lz4Search16(dst, src *byte, table *uint16, n, stop, stride int, walk *lz4Walk)

//go:noescape
func lz4Search32(dst, src *byte, table *uint32, n, stop, stride int, walk *lz4Walk)

// pack is fast by a kernel, which is called for lz4Once positions at a time.
//
// No kernel asks whether there is room. A sequence takes no more than the bytes
// it stands for and a 255th of its literals, so LZ4Bound has room for all, and
// for 16 bytes where a few literals go: 12 bytes at least come after those.
func (t *lz4Table[T]) pack(dst, src []byte, start, stride int) int {
	_ = dst[LZ4Bound(int64(len(src)-start))-1]
	t.enter(src, start)
	last := len(src) - lz4Tail
	w := lz4Walk{at: start + 1, from: start, step: 1, missed: stride << 6}
	for w.at <= last {
		stop := min(last, w.at+lz4Once)
		switch t := any(t).(type) {
		case *lz4Table[uint16]:
			lz4Search16(&dst[0], &src[0], &t[0], len(src), stop, stride, &w)
		case *lz4Table[uint32]:
			lz4Search32(&dst[0], &src[0], &t[0], len(src), stop, stride, &w)
		}
	}
	return lz4Rest(dst, w.out, src, w.from)
}
