package zstd

// parseLiterals returns the literals of a block, which lie in src or in d, and
// what follows them. RFC 8878, 3.1.1.3.1.
func (d *decoder) parseLiterals(src []byte) (literals, rest []byte, err error) {
	if len(src) == 0 {
		return nil, nil, corrupt("an empty block")
	}
	kind, format := int(src[0]&3), int(src[0]>>2&3)
	if kind == kindRaw || kind == kindRLE {
		head := [4]int{1, 2, 1, 3}[format]
		word, src, ok := number(src, head)
		n := int(word >> 4)
		if head == 1 {
			n = int(word >> 3)
		}
		stored := n
		if kind == kindRLE {
			stored = 1
		}
		if !ok || n > maxBlock || stored > len(src) {
			return nil, nil, corrupt("literals are damaged")
		}
		if kind == kindRaw {
			return src[:n], src[n:], nil
		}
		fill(d.literals[:n], src[0])
		return d.literals[:n], src[1:], nil
	}

	width := [4]int{10, 10, 14, 18}[format]
	word, src, ok := number(src, (4+2*width+7)/8)
	n, stored := int(word>>4&(1<<width-1)), int(word>>(4+width))
	if !ok || n > maxBlock || stored > len(src) {
		return nil, nil, corrupt("literals are damaged")
	}
	streams, rest := src[:stored], src[stored:]
	if kind == kindFull {
		d.code = nil
		if streams, err = d.huffman.parse(streams, &d.counts); err != nil {
			return nil, nil, err
		}
		d.code = &d.huffman
	}
	if d.code == nil {
		return nil, nil, corrupt("literals without a code")
	}
	literals = d.literals[:n]
	if format == 0 {
		ok = d.code.fill(literals, streams)
	} else {
		ok = d.code.fillFour(literals, streams)
	}
	if !ok {
		return nil, nil, corrupt("literals are damaged")
	}
	return literals, rest, nil
}

// number reads a number of n bytes: up to 40 bits, which an int may not have.
func number(src []byte, n int) (v uint64, rest []byte, ok bool) {
	if n > len(src) {
		return 0, nil, false
	}
	for i, c := range src[:n] {
		v |= uint64(c) << (8 * i)
	}
	return v, src[n:], true
}

// fillFour decodes four streams, whose sizes come first, to a quarter each.
func (h *huffman) fillFour(dst, src []byte) bool {
	if len(src) < 6 || len(dst) < 6 {
		return false
	}
	sizes := [3]int{int(le.Uint16(src)), int(le.Uint16(src[2:])), int(le.Uint16(src[4:]))}
	src = src[6:]
	quarter := (len(dst) + 3) / 4
	for _, n := range sizes {
		if n > len(src) || quarter > len(dst) || !h.fill(dst[:quarter], src[:n]) {
			return false
		}
		dst, src = dst[quarter:], src[n:]
	}
	return h.fill(dst, src)
}
