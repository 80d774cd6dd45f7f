package deflate

// writer appends bits to b, the lowest first.
type writer struct {
	b    []byte
	acc  uint64
	fill uint // bits of acc that are in use
}

// put appends the n low bits of v, at most 32, above which v is zero.
func (w *writer) put(v uint64, n uint) {
	w.acc |= v << (w.fill & 63)
	if w.fill += n; w.fill >= 32 {
		w.b = le.AppendUint32(w.b, uint32(w.acc))
		w.acc >>= 32
		w.fill -= 32
	}
}

// flush appends whole bytes; all: and the bits that are left, as one.
func (w *writer) flush(all bool) {
	for ; w.fill >= 8 || all && w.fill > 0; w.fill -= min(w.fill, 8) {
		w.b = append(w.b, byte(w.acc))
		w.acc >>= 8
	}
}

// begin appends the header of a block.
func (w *writer) begin(kind uint64, last bool) {
	if last {
		w.put(1|kind<<1, 3)
		return
	}
	w.put(kind<<1, 3)
}

// stored appends blocks of bytes as they are.
func (w *writer) stored(b []byte, last bool) {
	for {
		n := min(len(b), maxStored)
		w.begin(kindStored, last && n == len(b))
		w.flush(true)
		w.b = le.AppendUint16(w.b, uint16(n))
		w.b = le.AppendUint16(w.b, ^uint16(n))
		w.b = append(w.b, b[:n]...)
		if b = b[n:]; len(b) == 0 {
			return
		}
	}
}

// table appends the widths of the codes.
func (w *writer) table(c *codes) {
	n, m := c.used()
	told := c.told()
	w.put(uint64(n-firstMatch), 5)
	w.put(uint64(m-1), 5)
	w.put(uint64(told-4), 4)
	for _, s := range widthOrder[:told] {
		w.put(uint64(c.meta.width[s]), 3)
	}
	extra := [widths]uint{16: 2, 17: 3, 18: 7}
	for i := 0; i < len(c.order); i += 2 {
		s := c.order[i]
		w.put(uint64(c.meta.bits[s]), uint(c.meta.width[s]))
		w.put(uint64(c.order[i+1]), extra[s])
	}
}

// tokens appends tokens and the end of the block.
func (w *writer) tokens(all []token, literal, distance *code) {
	for _, t := range all {
		if t < matchMark {
			w.put(uint64(literal.bits[t]), uint(literal.width[t]))
			continue
		}
		s, v, n := lengthSymbol(t.length())
		w.put(uint64(literal.bits[s])|v<<literal.width[s], uint(literal.width[s])+n)
		s, v, n = distanceSymbol(t.distance())
		w.put(uint64(distance.bits[s])|v<<distance.width[s], uint(distance.width[s])+n)
	}
	w.put(uint64(literal.bits[endOfBlock]), uint(literal.width[endOfBlock]))
}
