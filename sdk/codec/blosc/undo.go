package blosc

import (
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec/internal/shuffle"
)

// delta reports whether blocks refer to block 0.
func (c *Chunk) delta() bool {
	for _, f := range c.h.Filters {
		if f.ID == Delta {
			return true
		}
	}
	return false
}

// moves reports whether undoing f on n bytes goes from one buffer to another.
func (c *Chunk) moves(f Filter, n int) bool {
	switch f.ID {
	case Shuffle:
		size := c.shuffled(f)
		return size > 1 && n >= size
	case BitShuffle:
		count := n / c.h.TypeSize
		if !c.h.Extended && count%8 > 0 {
			return false // Blosc 1 left the block as it was
		}
		return count >= 8
	}
	return !f.ID.here()
}

// steps is how many filters move the bytes of a block of n.
func (c *Chunk) steps(n int) int {
	count := 0
	for _, f := range c.h.Filters {
		if c.moves(f, n) {
			count++
		}
	}
	return count
}

// shuffled is the size of the elements that f shuffled.
func (c *Chunk) shuffled(f Filter) int {
	if f.Meta != 0 {
		return int(f.Meta)
	}
	return c.h.TypeSize
}

// undo takes block i, which is in cur, back through the filters, last first.
// Those that move bytes use other.
func (c *Chunk) undo(cur, other []byte, i int, s *scratch) error {
	for slot := MaxFilters - 1; slot >= 0; slot-- {
		f := c.h.Filters[slot]
		if c.moves(f, len(cur)) {
			switch f.ID {
			case Shuffle:
				shuffle.UndoBytes(other, cur, c.shuffled(f))
			case BitShuffle:
				size := c.h.TypeSize
				n := len(cur) / size &^ 7 * size
				shuffle.UndoBits(other, cur[:n], size, sized(&s.lanes, n))
				copy(other[n:], cur[n:])
			default:
				if err := c.o.Plugins.Filters[f.ID](other, cur, f, c.h); err != nil {
					return err
				}
			}
			cur, other = other, cur
			continue
		}
		switch f.ID {
		case Delta:
			if err := c.undoDelta(cur, i, s); err != nil {
				return err
			}
		case ByteDelta, ByteDeltaOld:
			lanes := int(f.Meta)
			if lanes == 0 {
				lanes = c.o.TypeSize
			}
			undoByteDelta(cur, lanes, f.ID == ByteDeltaOld)
		}
	}
	return nil
}

// deltaWidth is the size of the lanes that the delta filter works on.
func deltaWidth(size int) int {
	switch {
	case size == 1 || size == 2 || size == 4 || size == 8:
		return size
	case size%8 == 0:
		return 8
	}
	return 1
}

// undoDelta makes the elements of b of their differences: from the ones
// before in block 0, from those of block 0 in others.
func (c *Chunk) undoDelta(b []byte, i int, s *scratch) error {
	w := deltaWidth(c.h.TypeSize)
	n := len(b) / w * w
	if i > 0 {
		if n > len(s.base) {
			return corrupt("is longer than block 0, to which it refers (" + strconv.Itoa(len(s.base)) + " bytes)")
		}
		xor(b[:n], s.base)
		return nil
	}
	xorBefore(b[:n], w)
	return nil
}

// undoByteDelta makes sums of the bytes of each lane. The older form forgot
// the sum where the vector part of its loop ended.
func undoByteDelta(b []byte, lanes int, old bool) {
	n := len(b) / lanes
	for k := range lanes {
		lane := b[k*n : (k+1)*n]
		again := n
		if old {
			again = n &^ 15
		}
		sumBytes(lane[:again])
		sumBytes(lane[again:])
	}
}
