package blosc

import (
	"encoding/binary"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
	"github.com/gridhold/gridhold/sdk/codec/internal/shuffle"
)

// piece decodes bytes from..from+len(dst) of block i, which has n, where that
// takes less than all of the block: of each stream only the beginning up to
// the last byte that is needed, and no other element is put together. done is
// false where there is no such way.
func (c *Chunk) piece(dst []byte, i, from, n int, s *scratch) (done bool, err error) {
	width, ok := c.lanes()
	if !ok {
		return false, nil
	}
	// In the filtered block the elements e0..e1 lie in width runs.
	e0, e1, pitch := from/width, (from+len(dst)-1)/width+1, n/width
	if e1 > pitch { // in what is left over after the last whole element
		return false, nil
	}
	start, err := c.start(i)
	if err != nil {
		return false, err
	}
	end := c.end(i)
	src, err := c.src.bytes(start, end-start, &s.packed)
	if err != nil {
		return false, err
	}
	filtered := sized(&s.other, n)
	if err := c.beginnings(filtered, src, e0, e1, pitch, s); err != nil {
		return false, err
	}
	if width == 1 {
		copy(dst, filtered[from:])
		return true, nil
	}
	count := e1 - e0
	runs := sized(&s.lanes, width*count)
	for lane := range width {
		copy(runs[lane*count:(lane+1)*count], filtered[lane*pitch+e0:])
	}
	if from == e0*width && len(dst) == width*count {
		shuffle.UndoBytes(dst, runs, width)
		return true, nil
	}
	elements := sized(&s.whole, width*count)
	shuffle.UndoBytes(elements, runs, width)
	copy(dst, elements[from-e0*width:])
	return true, nil
}

// lanes returns how many runs of equal significance the filters make of a
// block: 1 without a filter. ok is false for other filters than shuffle, for
// dictionaries, and for blocks of any lengths.
func (c *Chunk) lanes() (width int, ok bool) {
	width = 1
	for _, f := range c.h.Filters {
		switch {
		case f.ID == NoFilter, f.ID == TruncPrec, f.ID == IntTrunc:
		case f.ID == Shuffle && width == 1:
			width = c.shuffled(f)
		default:
			return 0, false
		}
	}
	return width, c.h.Variable == 0 && len(c.dict) == 0
}

// beginnings decodes streams into a filtered block, which is runs of pitch
// bytes of which e0..e1 are needed: each stream as far as that takes. Of those
// that are not packed it leaves out what comes before, too.
func (c *Chunk) beginnings(filtered, src []byte, e0, e1, pitch int, s *scratch) error {
	count := c.h.streams(len(filtered))
	n := len(filtered) / count
	if n*count != len(filtered) {
		return corrupt("is no multiple of its streams")
	}
	for i := range count {
		// The last run that begins before the end of the stream, and what is
		// needed of it; or all of the run before.
		run := ((i+1)*n - 1) / pitch
		need := run*pitch + e1
		if run*pitch+e0 >= (i+1)*n {
			need = (run-1)*pitch + e1
		}
		need = max(min(need-i*n, n), 0)
		// The first run of which something is needed that is not before the stream.
		first := 0
		if i*n >= e1 {
			first = (i*n-e1)/pitch + 1
		}
		skip := min(max(first*pitch+e0-i*n, 0), need)
		if len(src) < 4 {
			return corrupt("a stream lies outside the chunk")
		}
		size := int(int32(binary.LittleEndian.Uint32(src)))
		src = src[4:]
		part := filtered[i*n : (i+1)*n : (i+1)*n]
		if size <= 0 && c.h.Extended {
			if size < 0 {
				if size < -255 || len(src) < 1 || src[0]&1 == 0 {
					return corrupt("a run is damaged")
				}
				src = src[1:]
			}
			fillByte(part[skip:need], byte(-size))
			continue
		}
		if size < 0 || size > len(src) {
			return corrupt("a stream lies outside the chunk")
		}
		if err := c.beginning(part, skip, need, src[:size], s); err != nil {
			return err
		}
		src = src[size:]
	}
	return nil
}

// beginning decodes bytes skip..need of a stream, or more, into dst, which has
// room for all of it.
func (c *Chunk) beginning(dst []byte, skip, need int, src []byte, s *scratch) error {
	switch {
	case need == 0:
		return nil
	case len(src) == len(dst):
		copy(dst[skip:need], src[skip:])
		return nil
	case c.h.Codec == LZ4 || c.h.Codec == LZ4HC:
		return block.PrefixLZ4(dst[:need], src)
	}
	return c.stream(dst, src, s)
}
