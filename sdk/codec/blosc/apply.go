package blosc

import (
	"encoding/binary"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec/internal/shuffle"
)

// filter takes block i through the filters, first one first. The result is b
// or scratch memory, until the next call.
func (e *encoder) filter(b []byte, i int, s *scratch) []byte {
	cur, spare := b, sized(&s.whole, len(b))
	next := sized(&s.other, len(b))
	size := e.p.typeSize()
	for _, f := range e.p.Filters {
		switch f.ID {
		case NoFilter:
			continue
		case Shuffle:
			w := size
			if f.Meta != 0 {
				w = int(f.Meta)
			}
			if w == 1 || len(b) < w {
				continue
			}
			shuffle.Bytes(next, cur, w)
		case BitShuffle:
			count := len(cur) / size
			if count < 8 || e.header == HeaderSize && count%8 > 0 {
				continue
			}
			n := count &^ 7 * size
			shuffle.Bits(next, cur[:n], size, sized(&s.lanes, n))
			copy(next[n:], cur[n:])
		case Delta:
			e.applyDelta(next, cur, i)
		case ByteDelta:
			lanes := int(f.Meta)
			if lanes == 0 {
				lanes = e.p.TypeSize
			}
			applyByteDelta(next, cur, lanes)
		case TruncPrec, IntTrunc:
			bits, _ := dropped(f, e.p.TypeSize) // was checked
			truncate(next, cur, e.p.TypeSize, bits)
		}
		cur = next
		next, spare = spare, next
	}
	return cur
}

// applyDelta writes how the elements of b differ from the ones before in
// block 0, from those of block 0 in others.
func (e *encoder) applyDelta(dst, b []byte, i int) {
	w := deltaWidth(e.p.typeSize())
	n := len(b) / w * w
	copy(dst, b)
	if i > 0 {
		xor(dst[:n], e.base)
		return
	}
	if n > w {
		xor(dst[w:n], b)
	}
}

// decoded is block 0 as readers will have it: without the bits that were dropped.
func (e *encoder) decoded() []byte {
	b := e.src[:min(e.blockSize, e.size)]
	for _, f := range e.p.Filters {
		if f.ID == TruncPrec || f.ID == IntTrunc {
			bits, _ := dropped(f, e.p.TypeSize)
			out := make([]byte, len(b))
			truncate(out, b, e.p.TypeSize, bits)
			b = out
		}
	}
	return b
}

// applyByteDelta writes the differences between the bytes of each lane.
func applyByteDelta(dst, b []byte, lanes int) {
	n := len(b) / lanes
	copy(dst[n*lanes:], b[n*lanes:])
	for k := range lanes {
		lessBefore(dst[k*n:(k+1)*n], b[k*n:(k+1)*n])
	}
}

// dropped is how many low bits of an element f sets to zero.
func dropped(f Filter, size int) (int, error) {
	most := mantissa(f.ID, size)
	if most == 0 {
		return 0, invalid("filters", f.ID.String()+" of elements of "+strconv.Itoa(size)+" bytes")
	}
	meta := int(int8(f.Meta))
	n := -meta
	if meta >= 0 {
		n = most - meta
	}
	if n < 0 || n >= most {
		return 0, invalid("filters", f.ID.String()+" of "+strconv.Itoa(meta)+" bits")
	}
	return n, nil
}

// mantissa is of how many bits a filter can drop some; 0: it is not for
// elements of that size.
func mantissa(id FilterID, size int) int {
	switch {
	case id == TruncPrec && size == 4:
		return 23
	case id == TruncPrec && size == 8:
		return 52
	case id == IntTrunc && (size == 1 || size == 2 || size == 4 || size == 8):
		return 8 * size
	}
	return 0
}

// truncate sets the low bits of each element to zero.
func truncate(dst, src []byte, size, bits int) {
	mask := ^uint64(0) << bits
	var word [8]byte
	for at := 0; at < 8; at += size {
		var one [8]byte
		binary.LittleEndian.PutUint64(one[:], mask)
		copy(word[at:], one[:size])
	}
	mask = binary.LittleEndian.Uint64(word[:])
	n := len(src) / size * size
	i := 0
	for ; i+8 <= n; i += 8 {
		binary.LittleEndian.PutUint64(dst[i:], binary.LittleEndian.Uint64(src[i:])&mask)
	}
	for ; i < n; i++ {
		dst[i] = src[i] & word[i%8]
	}
	copy(dst[n:], src[n:])
}
