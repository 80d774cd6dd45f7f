package blosc

import (
	"encoding/binary"
	"strconv"
	"sync"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
	"github.com/gridhold/gridhold/sdk/codec/internal/shuffle"
	"github.com/gridhold/gridhold/sdk/fault"
)

// Decode appends the bytes that a chunk holds to dst: ErrLimit if there are
// more than limit, ErrCorrupt if the chunk is damaged, ErrUnsupported for
// what is not Blosc 1. Bytes after the chunk are ignored. The result never
// shares memory with src. Safe for concurrent use.
func Decode(dst, src []byte, limit int) ([]byte, error) {
	h, err := ParseHeader(src)
	if err != nil {
		return nil, err
	}
	if h.Size > limit {
		return nil, block.OverLimit("blosc", limit)
	}
	if h.Stored {
		return append(dst, src[HeaderSize:HeaderSize+h.Size]...), nil
	}
	c := chunk{Header: h, bytes: src[:h.PackedSize]}
	if h.Size > 0 && h.Shuffle != NoShuffle {
		c.scratch = scratches.Get().(*scratch)
		defer scratches.Put(c.scratch)
	}
	out := block.Room(dst, h.Size)
	out = out[:len(dst)+h.Size]
	for i := range h.Blocks() {
		to := out[len(dst)+i*h.BlockSize:]
		if err := c.block(to[:h.BlockLen(i)], i); err != nil {
			return nil, &fault.Error{Format: "blosc", Item: "block " + strconv.Itoa(i), Off: -1, Err: err}
		}
	}
	return out, nil
}

// scratch holds blocks between the steps of their decoding.
type scratch struct{ shuffled, lanes []byte }

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// sized returns *b with n bytes.
func sized(b *[]byte, n int) []byte {
	if cap(*b) < n {
		*b = make([]byte, n)
	}
	return (*b)[:n]
}

// chunk is a chunk with blocks.
type chunk struct {
	Header
	bytes   []byte
	scratch *scratch // nil where nothing was shuffled
}

// block decodes block i into dst, which has its size.
func (c *chunk) block(dst []byte, i int) error {
	start := int64(int32(binary.LittleEndian.Uint32(c.bytes[HeaderSize+4*i:])))
	if start < HeaderSize+4*int64(c.Blocks()) || start >= int64(len(c.bytes)) {
		return corrupt("begins outside the chunk")
	}
	switch count := len(dst) / c.TypeSize; {
	case c.Shuffle == ByteShuffle && c.TypeSize > 1 && count > 0:
		tmp := sized(&c.scratch.shuffled, len(dst))
		if err := c.unpack(tmp, int(start)); err != nil {
			return err
		}
		shuffle.UndoBytes(dst, tmp, c.TypeSize)
	case c.Shuffle == BitShuffle && count > 0 && count%8 == 0: // else the writer left the block as it was
		tmp := sized(&c.scratch.shuffled, len(dst))
		if err := c.unpack(tmp, int(start)); err != nil {
			return err
		}
		shuffle.UndoBits(dst, tmp, c.TypeSize, sized(&c.scratch.lanes, len(dst)))
	default:
		return c.unpack(dst, int(start))
	}
	return nil
}

// unpack decodes the streams of a block, which begin at start.
func (c *chunk) unpack(dst []byte, start int) error {
	count := c.streams(len(dst))
	n := len(dst) / count
	if n*count != len(dst) {
		return corrupt("is no multiple of its streams")
	}
	src := c.bytes[start:]
	for i := range count {
		if len(src) < 4 {
			return corrupt("a stream lies outside the chunk")
		}
		size := binary.LittleEndian.Uint32(src)
		src = src[4:]
		if uint64(size) > uint64(len(src)) {
			return corrupt("a stream lies outside the chunk")
		}
		part := dst[i*n : (i+1)*n : (i+1)*n]
		if int(size) == n {
			copy(part, src)
		} else if err := c.Compressor.fill(part, src[:size]); err != nil {
			return err
		}
		src = src[size:]
	}
	return nil
}

// fill decodes one stream, all of dst.
func (c Compressor) fill(dst, src []byte) error {
	var n int
	var err error
	switch c {
	case BloscLZ:
		n, err = fillBloscLZ(dst, src)
	case LZ4:
		n, err = block.FillLZ4(dst, src)
	case Snappy:
		n, err = block.FillSnappy(dst, src)
	case Zlib:
		n, err = filled(block.AppendZlib(dst[:0], src, len(dst)))
	case Zstd:
		n, err = filled(block.AppendZstd(dst[:0], src, len(dst)))
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
