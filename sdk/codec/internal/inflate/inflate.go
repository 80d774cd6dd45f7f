// Package inflate decompresses DEFLATE (RFC 1951) in its two containers, zlib
// (RFC 1950) and gzip (RFC 1952), from memory to memory.
//
// It knows where all input and output is, so it reads eight bytes at a time
// and copies matches within the output: faster than a decoder of streams, and
// a fifth of its size in the guest. The output is checked against a limit,
// and nothing is allocated by what the input claims.
package inflate

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"sync"

	"github.com/gridhold/gridhold/sdk/codec/internal/lz"
	"github.com/gridhold/gridhold/sdk/fault"
)

var le = binary.LittleEndian

// errCorrupt is told under the name of a container.
var errCorrupt = errors.New("the stream is damaged")

// wordBits is how many bits the longest match needs: two codes with what is
// added to them.
const wordBits = 15 + 5 + 15 + 13

// inflater is what one decompression works with.
type inflater struct {
	src []byte
	at  int // of the next byte that is not in acc

	acc uint64 // the next bits, the first of them lowest
	n   int    // how many bits of acc count; those above are right or zero
	pad int    // bytes of acc that are zeros after the end

	literals, distances, lengths table
	widths                       [320]uint8
}

var inflaters = sync.Pool{New: func() any { return new(inflater) }}

// inflate decodes one stream to dst[at:] and returns where its content ends
// and how many bytes of src it has.
func inflate(dst []byte, at int, src []byte) (end, used int, err error) {
	d := inflaters.Get().(*inflater)
	defer inflaters.Put(d)
	d.src, d.at, d.acc, d.n, d.pad = src, 0, 0, 0, 0
	defer func() { d.src = nil }() // keep no caller's memory alive
	from := at
	for last := false; !last; {
		d.refill()
		last = d.take(1) == 1
		switch d.take(2) {
		case 0:
			at, err = d.stored(dst, at)
		case 1:
			at, err = d.matches(dst, from, at, &fixed.literals, &fixed.distances)
		case 2:
			if !d.parseTables() {
				return 0, 0, errCorrupt
			}
			at, err = d.matches(dst, from, at, &d.literals, &d.distances)
		default:
			err = errCorrupt
		}
		if (err == nil || err == fault.ErrLimit) && 8*d.pad > d.n {
			err = errCorrupt // it ended before
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return at, d.at - (d.n>>3 - d.pad), nil
}

// refill makes at least 56 bits count.
func (d *inflater) refill() { d.acc, d.n = d.refilled(d.acc, d.n) }

func (d *inflater) refilled(acc uint64, n int) (uint64, int) {
	if len(d.src)-d.at >= 8 {
		acc |= le.Uint64(d.src[d.at:]) << (n & 63)
		d.at += (63 - n) >> 3
		return acc, n | 56
	}
	for ; n < 56; n += 8 {
		if d.at < len(d.src) {
			acc |= uint64(d.src[d.at]) << (n & 63)
			d.at++
		} else {
			d.pad++
		}
	}
	return acc, n
}

// take takes k bits that are there.
func (d *inflater) take(k int) int {
	v := int(d.acc & (1<<k - 1))
	d.acc >>= k
	d.n -= k
	return v
}

// stored copies a block that is not compressed.
func (d *inflater) stored(dst []byte, at int) (int, error) {
	from := d.at - (d.n>>3 - d.pad)
	if 8*d.pad > d.n || len(d.src)-from < 4 {
		return 0, errCorrupt
	}
	n := int(le.Uint16(d.src[from:]))
	if uint16(n) != ^le.Uint16(d.src[from+2:]) {
		return 0, errCorrupt
	}
	from += 4
	if n > len(d.src)-from {
		return 0, errCorrupt
	}
	if n > len(dst)-at {
		return 0, fault.ErrLimit
	}
	d.at, d.acc, d.n, d.pad = from+n, 0, 0, 0
	return at + copy(dst[at:], d.src[from:from+n]), nil
}

// matches decodes a compressed block to its end.
func (d *inflater) matches(dst []byte, from, at int, literals, distances *table) (int, error) {
	acc, n := d.acc, d.n
	direct, near := literals.direct(), distances.direct()
	for {
		if n < wordBits {
			if acc, n = d.refilled(acc, n); d.pad > 8 {
				return 0, errCorrupt
			}
		}
		c := direct[acc&(1<<tableBits-1)]
		if c&kindMask == far {
			c = literals.far(c, acc)
		}
		acc >>= c & 15
		n -= int(c & 15)
		if c&kindMask == plain {
			if at >= len(dst) {
				d.n = n
				return 0, fault.ErrLimit
			}
			dst[at] = byte(c >> 16)
			at++
			continue
		}
		if c&kindMask != longer {
			if c&kindMask != stop {
				return 0, errCorrupt
			}
			d.acc, d.n = acc, n
			return at, nil
		}
		extra := c >> 8 & 15
		length := int(c>>16) + int(acc&(1<<extra-1))
		acc >>= extra
		n -= int(extra)

		c = near[acc&(1<<tableBits-1)]
		if c&kindMask == far {
			c = distances.far(c, acc)
		}
		if c&kindMask != longer {
			return 0, errCorrupt
		}
		acc >>= c & 15
		extra = c >> 8 & 15
		distance := int(c>>16) + int(acc&(1<<extra-1))
		acc >>= extra
		n -= int(c&15 + extra)

		if distance > at-from {
			return 0, errCorrupt
		}
		if length > len(dst)-at {
			d.n = n
			return 0, fault.ErrLimit
		}
		if length <= lz.Wide && distance >= lz.Wide && len(dst)-at >= lz.Wide { // what is too much is overwritten next
			lz.Copy16(dst[at:], dst[at-distance:])
		} else {
			lz.Repeat(dst, at, distance, length)
		}
		at += length
	}
}

// order is how the widths of the code for widths come.
var order = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// parseTables reads the codes of a block. RFC 1951, 3.2.7.
func (d *inflater) parseTables() bool {
	d.refill()
	literals, distances, lengths := d.take(5)+257, d.take(5)+1, d.take(4)+4
	if literals > 286 || distances > 30 {
		return false
	}
	w := &d.widths
	clear(w[:19])
	for i := range lengths {
		if i&7 == 0 {
			d.refill()
		}
		w[order[i]] = uint8(d.take(3))
	}
	if !d.lengths.build(w[:19], lengthSymbols[:]) {
		return false
	}
	table := d.lengths.direct()
	for i := 0; i < literals+distances; {
		if d.refill(); d.pad > 8 {
			return false
		}
		c := table[d.acc&(1<<tableBits-1)]
		d.take(int(c & 15))
		v := uint8(c >> 16)
		again := 1
		switch {
		case c&kindMask != plain:
			return false
		case v == 16:
			if i == 0 {
				return false
			}
			v, again = w[i-1], 3+d.take(2)
		case v == 17:
			v, again = 0, 3+d.take(3)
		case v == 18:
			v, again = 0, 11+d.take(7)
		}
		if i+again > literals+distances {
			return false
		}
		for range again {
			w[i] = v
			i++
		}
	}
	return d.literals.build(w[:literals], literalSymbols[:]) && d.distances.build(w[literals:literals+distances], distanceSymbols[:])
}

// table finds a symbol by the next bits: directly by tableBits of them, and
// in a table behind, to which the direct one refers, where a code is longer.
type table struct {
	cells []cell
}

// cell is, from the low end, the width of the code (4 bits), what kind of
// symbol it is (4), how many bits are added to its value (8, the width of the
// table behind where it is far) and its value (16).
type cell uint32

const (
	tableBits = 9
	maxWidth  = 15

	kindMask = 0xf0
	none     = 0x00 // no code
	plain    = 0x10 // a literal
	longer   = 0x20 // a length or a distance
	stop     = 0x30 // the end of the block
	far      = 0x40 // see behind
)

func (t *table) direct() *[1 << tableBits]cell { return (*[1 << tableBits]cell)(t.cells) }

func (t *table) far(c cell, acc uint64) cell {
	return t.cells[int(c>>16)+int(acc>>tableBits)&(1<<(c>>8&15)-1)]
}

// build makes the table of the code that has these widths; false where they
// are none. A code of one symbol is the only one that may be incomplete, as
// is a code of none.
func (t *table) build(widths []uint8, symbols []cell) bool {
	var counts, next [maxWidth + 1]int
	for _, w := range widths {
		counts[w]++
	}
	counts[0] = 0
	code, widest := 0, 0
	for w := 1; w <= maxWidth; w++ {
		code = (next[w-1] + counts[w-1]) << 1
		next[w] = code
		if counts[w] > 0 {
			widest = w
		}
		if code+counts[w] > 1<<w {
			return false
		}
	}
	if cap(t.cells) < 1<<tableBits {
		t.cells = make([]cell, 1<<tableBits, 2<<tableBits)
	}
	t.cells = t.cells[:1<<tableBits]
	if full := next[widest] + counts[widest]; widest == 0 || full != 1<<widest {
		if widest > 1 || counts[1] > 1 {
			return false
		}
		clear(t.cells)
	}
	if widest > tableBits {
		t.refer(widths, next)
	}
	for s, w := range widths {
		if w == 0 {
			continue
		}
		code := reversed(next[w], w)
		next[w]++
		c := symbols[s] | cell(w)
		cells, step := t.cells[:1<<tableBits], 1<<w
		if w > tableBits {
			head := t.cells[code&(1<<tableBits-1)]
			at := int(head >> 16)
			cells, step = t.cells[at:at+1<<(head>>8&15)], 1<<(w-tableBits)
			code >>= tableBits
		}
		for ; code < len(cells); code += step {
			cells[code] = c
		}
	}
	return true
}

// refer makes the tables behind and the cells that refer to them.
func (t *table) refer(widths []uint8, next [maxWidth + 1]int) {
	var behind [1 << tableBits]uint8 // the width of each
	for _, w := range widths {
		if w > tableBits {
			head := reversed(next[w], w) & (1<<tableBits - 1)
			next[w]++
			behind[head] = max(behind[head], w-tableBits)
		}
	}
	for head, w := range behind {
		if w > 0 {
			at := len(t.cells)
			t.cells = append(t.cells, make([]cell, 1<<w)...)
			t.cells[head] = cell(at)<<16 | cell(w)<<8 | far
		}
	}
}

func reversed(code int, width uint8) int {
	return int(bits.Reverse16(uint16(code)) >> (16 - width))
}
