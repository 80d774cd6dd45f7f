package zstd

import (
	"math/bits"

	"github.com/gridhold/gridhold/sdk/codec/internal/prefix"
)

const (
	maxCodeBits = 11
	maxDirect   = 128 // weights that may be written as they are
	weightBits  = 6   // of the table that packs weights, at most
)

// huffmanCode encodes bytes.
type huffmanCode struct {
	codes  [256]uint32 // the code, above its width in the low byte
	widths [256]uint8  // 0: does not occur
	width  int         // of the widest
	last   int         // symbol that occurs

	lengths prefix.Lengths
	weights [256]uint8
	fse     fseTable
	dist    distribution
}

// build makes codes for what is counted: at least two symbols. It returns
// false if it can not.
func (h *huffmanCode) build(counts *[256]uint32) bool {
	if !h.lengths.Set(h.widths[:], counts[:], maxCodeBits) {
		return false
	}
	h.width = 0
	for s, w := range h.widths {
		if w > 0 {
			h.width, h.last = max(h.width, int(w)), s
		}
	}
	// A reader's table has the widest codes first, those of a width by symbol.
	var first [maxCodeBits + 2]uint32 // by weight, the width turned round
	for s, w := range h.widths {
		h.weights[s] = 0
		if w > 0 {
			h.weights[s] = uint8(h.width) + 1 - w
			first[h.weights[s]] += 1 << (h.weights[s] - 1)
		}
	}
	at := uint32(0)
	for i, n := range first {
		first[i] = at
		at += n
	}
	for s, w := range h.widths {
		if w > 0 {
			i := h.weights[s]
			h.codes[s] = first[i]>>(i-1)<<8 | uint32(w)
			first[i] += 1 << (i - 1)
		}
	}
	return true
}

// describe appends the weights of all symbols but the last, which follows
// from them. RFC 8878, 4.2.1. It returns nil if there is no way.
func (h *huffmanCode) describe(dst []byte) []byte {
	weights := h.weights[:h.last]
	var counts [maxCodeBits + 1]uint32
	for _, w := range weights {
		counts[w]++
	}
	head, top, kinds := len(dst), 0, 0
	for w, c := range counts {
		if c > 0 {
			top = w
			kinds++
		}
	}
	if kinds > 1 {
		h.dist.normalize(counts[:top+1], len(weights), tableLog(len(weights), top, weightBits))
		h.fse.build(&h.dist)
		dst = h.dist.append(append(dst, 0))
		dst = h.packWeights(dst, weights)
		if n := len(dst) - head - 1; n < maxDirect && n < (len(weights)+1)/2 {
			dst[head] = byte(n)
			return dst
		}
		dst = dst[:head]
	}
	if len(weights) > maxDirect {
		return nil
	}
	dst = append(dst, byte(127+len(weights)))
	for i := 0; i < len(weights); i += 2 {
		b := weights[i] << 4
		if i+1 < len(weights) {
			b |= weights[i+1]
		}
		dst = append(dst, b)
	}
	return dst
}

// packWeights appends weights by the table: two states take turns.
func (h *huffmanCode) packWeights(dst, weights []byte) []byte {
	var room [256 + 16]byte // a weight takes less than a byte
	w := backward{out: room[:]}
	n := len(weights)
	var states [2]uint32
	states[(n-1)&1] = h.fse.begin(weights[n-1])
	states[(n-2)&1] = h.fse.begin(weights[n-2])
	for i := n - 3; i >= 0; i-- {
		states[i&1] = h.fse.put(&w, states[i&1], weights[i])
		w.flush()
	}
	h.fse.end(&w, states[1])
	h.fse.end(&w, states[0])
	return append(dst, room[:w.end()]...)
}

// fill writes src to dst, which has room for maxCodeBits each and 16 bytes,
// and returns how much it wrote.
func (h *huffmanCode) fill(dst, src []byte) int {
	var acc uint64
	var fill uint
	i, at := len(src), 0
	for ; i&3 > 0; i-- {
		c := h.codes[src[i-1]]
		acc |= uint64(c>>8) << (fill & 63)
		fill += uint(c & 255)
	}
	for ; i >= 4; i -= 4 {
		le.PutUint64(dst[at:], acc)
		at += int(fill >> 3)
		acc >>= fill & 56
		fill &= 7
		four := src[i-4 : i : i]
		c := h.codes[four[3]]
		acc |= uint64(c>>8) << (fill & 63)
		fill += uint(c & 255)
		c = h.codes[four[2]]
		acc |= uint64(c>>8) << (fill & 63)
		fill += uint(c & 255)
		c = h.codes[four[1]]
		acc |= uint64(c>>8) << (fill & 63)
		fill += uint(c & 255)
		c = h.codes[four[0]]
		acc |= uint64(c>>8) << (fill & 63)
		fill += uint(c & 255)
	}
	w := backward{dst, at, acc, fill}
	w.flush()
	return w.end()
}

// tally counts bytes, in four places: equal bytes in a row do not wait for
// each other.
type tally [4][256]uint32

func (t *tally) add(b []byte) {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := le.Uint64(b[i:])
		t[0][uint8(w)]++
		t[1][uint8(w>>8)]++
		t[2][uint8(w>>16)]++
		t[3][uint8(w>>24)]++
		t[0][uint8(w>>32)]++
		t[1][uint8(w>>40)]++
		t[2][uint8(w>>48)]++
		t[3][uint8(w>>56)]++
	}
	for ; i < len(b); i++ {
		t[0][b[i]]++
	}
}

// sum is how often each byte was added.
func (t *tally) sum() *[256]uint32 {
	for s := range t[0] {
		t[0][s] += t[1][s] + t[2][s] + t[3][s]
	}
	return &t[0]
}

// log2 is the logarithm of n > 0 in 256ths, rounded down.
func log2(n uint32) int {
	k := bits.Len32(n) - 1
	return k<<8 + int(fractions[uint64(n)<<(32-k)>>24&255])
}

// fractions are the logarithms of 1+i/256, in 256ths.
var fractions = func() (f [256]uint8) {
	for i := range f {
		// By squaring: each time it reaches 2, a bit of the logarithm is set.
		x := uint64(256+i) << 23 // 1 is 1<<31
		for range 8 {
			x = x >> 8 * (x >> 8) >> 15
			f[i] <<= 1
			if x >= 1<<32 {
				x >>= 1
				f[i]++
			}
		}
	}
	return f
}()
