package blosc

import (
	"encoding/binary"
	"strconv"
	"sync"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
	"github.com/gridhold/gridhold/sdk/fault"
)

// Decode appends the bytes that a chunk of Blosc 1 holds to dst: ErrLimit if
// there are more than limit, ErrCorrupt if the chunk is damaged,
// ErrUnsupported for what is not Blosc 1. Bytes after the chunk are ignored.
// The result never shares memory with src. Safe for concurrent use.
func Decode(dst, src []byte, limit int) ([]byte, error) {
	if len(src) >= HeaderSize && (src[0] != version1 || src[2]&flagExtended == flagExtended) {
		return nil, unsupported("version " + strconv.Itoa(int(src[0])) + " of the format, or an extended header")
	}
	h, err := ParseHeader(src)
	if err != nil {
		return nil, err
	}
	if h.Size > limit {
		return nil, block.OverLimit("blosc", limit)
	}
	c, err := Open(src, Options{})
	if err != nil {
		return nil, err
	}
	return c.Decode(dst)
}

// Decode appends all that the chunk holds to dst. It returns ErrCorrupt, and
// errors of the reader.
func (c *Chunk) Decode(dst []byte) ([]byte, error) { return c.DecodeRange(0, c.h.Size, dst) }

// DecodeBlock appends block i to dst: of a chunk with the delta filter it
// decodes block 0 too. It panics if i is not in [0, Blocks()). Errors are
// those of Decode.
func (c *Chunk) DecodeBlock(i int, dst []byte) ([]byte, error) {
	from, to := c.Block(i)
	return c.DecodeRange(from, to, dst)
}

// DecodeRange appends bytes from..to of what the chunk holds to dst, and
// decodes those blocks that have them, of the first and the last no more than
// is needed where that is less work. It panics unless
// 0 <= from <= to <= Header().Size. Errors are those of Decode.
func (c *Chunk) DecodeRange(from, to int, dst []byte) ([]byte, error) {
	if from < 0 || to < from || to > c.h.Size {
		panic("blosc: no bytes " + strconv.Itoa(from) + ".." + strconv.Itoa(to))
	}
	at := len(dst)
	out := block.Room(dst, to-from)[:at+to-from]
	want := out[at:]
	var err error
	switch {
	case from == to:
	case c.h.Special != NotSpecial:
		err = c.special(want, from)
	case c.h.Stored:
		err = c.src.fill(want, c.h.Len()+from)
	default:
		err = c.blocks(want, from)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// blocks decodes the blocks that bytes from.. of the chunk lie in, for as many
// as want has.
func (c *Chunk) blocks(want []byte, from int) error {
	first, last := c.blockOf(from), c.blockOf(from+len(want)-1)
	s := scratches.Get().(*scratch)
	defer s.release()
	s.base = s.base[:0]
	if c.o.Workers > 1 && last > first && len(want) >= worthWorkers {
		return c.together(want, from, first, last, s)
	}
	for i := first; i <= last; i++ {
		if err := c.share(want, from, i, s); err != nil {
			return err
		}
	}
	return nil
}

// share decodes what block i has of bytes from.. of the chunk into want.
func (c *Chunk) share(want []byte, from, i int, s *scratch) error {
	begin, end := c.Block(i)
	lo, hi := max(begin, from), min(end, from+len(want))
	part := want[lo-from : hi-from : hi-from]
	if len(part) == end-begin {
		if err := c.block(part, i, s); err != nil {
			return blockError(i, err)
		}
		if i == 0 && c.delta() && len(s.base) == 0 {
			s.base = append(s.base, part...)
		}
		return nil
	}
	done, err := c.piece(part, i, lo-begin, end-begin, s)
	if err != nil {
		return blockError(i, err)
	}
	if done {
		return nil
	}
	whole := sized(&s.whole, end-begin)
	if err := c.block(whole, i, s); err != nil {
		return blockError(i, err)
	}
	copy(part, whole[lo-begin:])
	return nil
}

// blockOf is the block that has byte at.
func (c *Chunk) blockOf(at int) int {
	if c.lens == nil {
		return at / c.h.BlockSize
	}
	i := 0
	for c.lens[i+1] <= at {
		i++
	}
	return i
}

// scratch holds blocks between the steps of their decoding.
type scratch struct {
	whole, other, lanes []byte
	packed              []byte // as read
	window              []byte // dictionary and output
	base                []byte // block 0, decoded, for the delta filter; empty: not yet
	encoder             encoder
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// keep is the most that a scratch may hold to be used again.
const keep = 16 << 20

func (s *scratch) release() {
	if cap(s.whole)+cap(s.other)+cap(s.lanes)+cap(s.packed)+cap(s.window)+cap(s.base) <= keep {
		scratches.Put(s)
	}
}

// sized returns *b with n bytes.
func sized(b *[]byte, n int) []byte {
	if cap(*b) < n {
		*b = make([]byte, n)
	}
	return (*b)[:n]
}

// block decodes block i into dst, which has its size.
func (c *Chunk) block(dst []byte, i int, s *scratch) error {
	if i > 0 && c.delta() && len(s.base) == 0 {
		n := c.h.BlockSize
		if c.lens != nil {
			n = c.lens[1]
		}
		s.base = sized(&s.base, n)
		if err := c.block(s.base, 0, s); err != nil {
			return err
		}
	}
	start, err := c.start(i)
	if err != nil {
		return err
	}
	src, err := c.src.bytes(start, c.end(i)-start, &s.packed)
	if err != nil {
		return err
	}
	return c.unpackInto(dst, src, i, s)
}

// unpackInto decodes block i, with which src begins.
func (c *Chunk) unpackInto(dst, src []byte, i int, s *scratch) error {
	// Filters move the bytes from one buffer to the other and back: begin
	// where the last one ends in dst.
	steps := c.steps(len(dst))
	cur, other := dst, dst
	if steps > 0 {
		other = sized(&s.other, len(dst))
	}
	if steps%2 > 0 {
		cur, other = other, cur
	}
	if err := c.unpack(cur, src, s); err != nil {
		return err
	}
	return c.undo(cur, other, i, s)
}

// unpack decodes the streams of a block, with which src begins.
func (c *Chunk) unpack(dst, src []byte, s *scratch) error {
	if c.h.Variable > 0 {
		// The size before the stream is the decoded one: it was seen.
		if len(src) < 4 {
			return corrupt("lies outside the chunk")
		}
		return c.stream(dst, src[4:], s)
	}
	count := c.h.streams(len(dst))
	n := len(dst) / count
	if n*count != len(dst) {
		return corrupt("is no multiple of its streams")
	}
	for i := range count {
		if len(src) < 4 {
			return corrupt("a stream lies outside the chunk")
		}
		size := int(int32(binary.LittleEndian.Uint32(src)))
		src = src[4:]
		part := dst[i*n : (i+1)*n : (i+1)*n]
		if size <= 0 && c.h.Extended {
			if size < 0 {
				if size < -255 || len(src) < 1 || src[0]&1 == 0 {
					return corrupt("a run is damaged")
				}
				src = src[1:]
			}
			fillByte(part, byte(-size))
			continue
		}
		if size < 0 || size > len(src) {
			return corrupt("a stream lies outside the chunk")
		}
		if err := c.stream(part, src[:size], s); err != nil {
			return err
		}
		src = src[size:]
	}
	return nil
}

// stream decodes one stream, all of dst.
func (c *Chunk) stream(dst, src []byte, s *scratch) error {
	if len(src) == len(dst) {
		copy(dst, src)
		return nil
	}
	var n int
	var err error
	switch c.h.Codec {
	case BloscLZ:
		n, err = fillBloscLZ(dst, src)
	case LZ4, LZ4HC:
		if len(c.dict) > 0 {
			window := sized(&s.window, len(c.dict)+len(dst))
			copy(window, c.dict)
			n, err = block.FillLZ4After(window, len(c.dict), src)
			copy(dst, window[len(c.dict):])
		} else {
			n, err = block.FillLZ4(dst, src)
		}
	case Snappy:
		n, err = block.FillSnappy(dst, src)
	case Zlib:
		n, err = filled(block.AppendZlib(dst[:0], src, len(dst)))
	case Zstd:
		if c.zstd != nil {
			n, err = filled(c.zstd.Append(dst[:0], src, len(dst)))
		} else {
			n, err = filled(block.AppendZstd(dst[:0], src, len(dst)))
		}
	default:
		return c.o.Plugins.Codecs[c.h.Codec](dst, src, c.h)
	}
	if err == nil && n != len(dst) {
		err = corrupt("a stream decodes to " + strconv.Itoa(n) + " bytes, want " + strconv.Itoa(len(dst)))
	}
	return err
}

// filled is the size of what was appended in place. That a stream holds more
// than its block is damage here, not a limit of the caller's.
func filled(out []byte, err error) (int, error) {
	if fault.CodeOf(err) == fault.CodeLimit {
		err = corrupt("a stream decodes to more than its part of the block")
	}
	return len(out), err
}
