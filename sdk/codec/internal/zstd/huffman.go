package zstd

import "math/bits"

const (
	maxHuffmanBits = 11
	maxWeightBits  = 6
)

// huffman is a code for bytes: by the next log bits, the byte in the upper
// half and the length of its code in the lower.
type huffman struct {
	log   int // 0: there is none
	table [1 << maxHuffmanBits]uint16
}

// parse reads a code and returns what follows it. RFC 8878, 4.2.1.
func (h *huffman) parse(src []byte, counts *distribution) ([]byte, error) {
	h.log = 0
	if len(src) == 0 {
		return nil, corrupt("a code is missing")
	}
	var weights [256]uint8
	n, size := 0, int(src[0])
	src = src[1:]
	if size >= 128 {
		n = size - 127
		if size = (n + 1) / 2; size > len(src) {
			return nil, corrupt("ends within a code")
		}
		for i := range n {
			weights[i] = src[i/2] >> (4 - 4*(i&1)) & 15
		}
	} else {
		if size > len(src) {
			return nil, corrupt("ends within a code")
		}
		var err error
		if n, err = parseWeights(weights[:255], src[:size], counts); err != nil {
			return nil, err
		}
	}
	return src[size:], h.build(&weights, n)
}

// parseWeights reads weights that are compressed: two states take turns.
func parseWeights(weights []uint8, src []byte, counts *distribution) (int, error) {
	src, err := counts.parse(src, 255, maxWeightBits)
	if err != nil {
		return 0, err
	}
	var table [1 << maxWeightBits]state
	p := start(src)
	if !counts.spread(table[:]) || p < 0 {
		return 0, corrupt("a code is damaged")
	}
	var s [2]int
	for i := range s {
		s[i] = top(load(src, p), counts.log)
		p -= counts.log
	}
	if p < 0 {
		return 0, corrupt("a code is damaged")
	}
	for n := 0; n < len(weights)-1; n++ {
		t := table[s[n&1]&(len(table)-1)]
		weights[n] = t.symbol
		s[n&1] = int(t.next) + top(load(src, p), int(t.width))
		if p -= int(t.width); p < 0 { // the other state has the last one
			weights[n+1] = table[s[1-n&1]&(len(table)-1)].symbol
			return n + 2, nil
		}
	}
	return 0, corrupt("a code has too many weights")
}

// build makes the table of n weights; the weight of one symbol more is what
// is left.
func (h *huffman) build(weights *[256]uint8, n int) error {
	total := 0
	var ranks [maxHuffmanBits + 2]int
	for _, w := range weights[:n] {
		if w > maxHuffmanBits {
			return corrupt("a code is too long")
		}
		total += 1 << w >> 1
		ranks[w]++
	}
	log := bits.Len(uint(total))
	if total == 0 || log > maxHuffmanBits {
		return corrupt("a code is too long")
	}
	left := 1<<log - total
	if left&(left-1) != 0 {
		return corrupt("a code is not complete")
	}
	w := bits.Len(uint(left))
	weights[n] = uint8(w)
	ranks[w]++
	if ranks[1] < 2 || ranks[1]&1 != 0 {
		return corrupt("a code is not complete")
	}
	at := 0
	for w := 1; w <= log; w++ { // where the symbols of a weight begin
		ranks[w], at = at, at+ranks[w]<<(w-1)
	}
	for s, w := range weights[:n+1] {
		if w == 0 {
			continue
		}
		cell := uint16(s)<<8 | uint16(log+1-int(w))
		from := ranks[w]
		ranks[w] += 1 << (w - 1)
		for i := range h.table[from:ranks[w]] {
			h.table[from+i] = cell
		}
	}
	h.log = log
	return nil
}

// fill decodes one stream to all of dst; false if it is damaged.
func (h *huffman) fill(dst, src []byte) bool {
	p := start(src)
	if p < 0 {
		return false
	}
	table, shift := &h.table, 64-h.log
	const mask = len(table) - 1
	for ; len(dst) >= 5 && p >= loaded; dst = dst[5:] { // five codes have at most 55 bits
		acc := load(src, p)
		a := table[int(acc>>(shift&63))&mask]
		acc <<= a & 15
		b := table[int(acc>>(shift&63))&mask]
		acc <<= b & 15
		c := table[int(acc>>(shift&63))&mask]
		acc <<= c & 15
		d := table[int(acc>>(shift&63))&mask]
		acc <<= d & 15
		e := table[int(acc>>(shift&63))&mask]
		dst[0], dst[1], dst[2], dst[3], dst[4] = byte(a>>8), byte(b>>8), byte(c>>8), byte(d>>8), byte(e>>8)
		p -= int(a&15 + b&15 + c&15 + d&15 + e&15)
	}
	for i := range dst {
		c := table[int(load(src, p)>>(shift&63))&mask]
		if p -= int(c & 15); p < 0 {
			return false
		}
		dst[i] = byte(c >> 8)
	}
	return p == 0
}
