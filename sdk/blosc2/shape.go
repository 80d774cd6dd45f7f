package blosc2

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
)

const (
	maxAxes    = 16
	shapeLayer = "b2nd"
	olderLayer = "caterva" // of the same beginning, without a data type
)

// Shape is the geometry of an NDArray: what its metalayer "b2nd" says. All
// slices have one number an axis.
type Shape struct {
	Shape  []int64 // items
	Chunks []int64 // items of a chunk; those at the edge are as large
	Blocks []int64 // items of a block
	DType  string  // as NumPy writes it; "" where the metalayer ends before it
	Format int     // of DType: 0 is NumPy's
}

// ParseShape reads the value of a metalayer "b2nd" or "caterva". ErrCorrupt
// if it contradicts itself or its products are too large for the format.
func ParseShape(b []byte) (Shape, error) {
	r := shapeReader{b: b}
	r.byte() // the list: of 5 or 7
	version := r.byte()
	n := int(r.byte())
	if r.err == nil && (version != 0 || b[0] < 0x95 || b[0] > 0x97 || n > maxAxes) {
		r.fail("version " + strconv.Itoa(int(version)) + ", " + strconv.Itoa(n) + " axes")
	}
	s := Shape{Shape: r.sides(n, 0xd3, 8), Chunks: r.sides(n, 0xd2, 4), Blocks: r.sides(n, 0xd2, 4)}
	if r.at < len(b) && r.err == nil {
		s.Format = int(r.byte())
		if r.byte() != 0xdb {
			r.fail("no data type where it is due")
		}
		s.DType = string(r.take(int64(binary.BigEndian.Uint32(append(r.take(4), 0, 0, 0, 0)))))
	}
	if r.err != nil {
		return Shape{}, r.err
	}
	return s, s.check()
}

// appendShape is what ParseShape reads.
func (s Shape) append(b []byte) []byte {
	b = append(b, 0x97, 0, byte(len(s.Shape)))
	b = append(b, 0x90+byte(len(s.Shape)))
	for _, n := range s.Shape {
		b = binary.BigEndian.AppendUint64(append(b, 0xd3), uint64(n))
	}
	for _, sides := range [][]int64{s.Chunks, s.Blocks} {
		b = append(b, 0x90+byte(len(s.Shape)))
		for _, n := range sides {
			b = binary.BigEndian.AppendUint32(append(b, 0xd2), uint32(n))
		}
	}
	b = binary.BigEndian.AppendUint32(append(b, byte(s.Format), 0xdb), uint32(len(s.DType)))
	return append(b, s.DType...)
}

// check holds the sides to each other.
func (s Shape) check() error {
	for i, n := range s.Shape {
		switch {
		case n < 0 || s.Chunks[i] < 0 || s.Blocks[i] < 0:
			return shapeError("a side is negative")
		case n > 0 && (s.Chunks[i] == 0 || s.Blocks[i] == 0):
			return shapeError("a chunk or block without items")
		case s.Blocks[i] > s.Chunks[i]:
			return shapeError("blocks larger than chunks")
		}
	}
	_, ok := product(s.Shape)
	ext, extOK := product(s.extent())
	if blocks, blocksOK := product(s.Blocks); !ok || !extOK || !blocksOK || ext > math.MaxInt32 || blocks > math.MaxInt32 {
		return shapeError("more items than the format has numbers for")
	}
	return nil
}

// fits holds the geometry to the frame.
func (s Shape) fits(h *Header, chunks int64) error {
	ext, _ := product(s.extent())
	blocks, _ := product(s.Blocks)
	cells, ok := product(s.grid())
	size, itemSize := int64(h.ChunkSize), int64(h.TypeSize)
	switch {
	case !ok || cells > chunks:
		return shapeError("needs " + strconv.FormatInt(cells, 10) + " chunks, has " + strconv.FormatInt(chunks, 10))
	case cells == 0:
		return nil
	case ext*itemSize != size || blocks*itemSize > blosc.MaxBlockSize:
		return shapeError("its chunks are not those of the frame")
	case h.BlockSize != 0 && blocks*itemSize != int64(h.BlockSize):
		return shapeError("its blocks are not those of the frame")
	}
	return nil
}

// extent is the shape of a chunk as it is stored: whole blocks.
func (s Shape) extent() []int64 {
	ext := make([]int64, len(s.Chunks))
	for i, n := range s.Chunks {
		if s.Blocks[i] > 0 {
			ext[i] = ceil(n, s.Blocks[i]) * s.Blocks[i]
		}
	}
	return ext
}

// grid is how many chunks there are along each axis.
func (s Shape) grid() []int64 {
	grid := make([]int64, len(s.Shape))
	for i, n := range s.Shape {
		if n > 0 {
			grid[i] = ceil(n, s.Chunks[i])
		}
	}
	return grid
}

// blockGrid is how many blocks of a chunk there are along each axis.
func (s Shape) blockGrid() []int64 {
	grid := s.extent()
	for i := range grid {
		if s.Blocks[i] > 0 {
			grid[i] /= s.Blocks[i]
		}
	}
	return grid
}

// alike reports whether one can become the other by resizing; nil is no
// array.
func (s *Shape) alike(o *Shape) bool {
	if s == nil || o == nil {
		return s == o
	}
	return slices.Equal(s.Chunks, o.Chunks) && slices.Equal(s.Blocks, o.Blocks) && s.DType == o.DType && s.Format == o.Format
}

func ceil(n, by int64) int64 { return (n-1)/by + 1 }

// product multiplies sides; ok is false where that has more than 63 bits.
func product(sides []int64) (n int64, ok bool) {
	n = 1
	if slices.Contains(sides, 0) {
		return 0, true
	}
	for _, side := range sides {
		if n > math.MaxInt64/side {
			return 0, false
		}
		n *= side
	}
	return n, true
}

func shapeError(why string) error { return fault.New(fault.ErrCorrupt, "frame", shapeLayer, why) }

// shapeReader reads the parts of a metalayer; after an error it gives zeros.
type shapeReader struct {
	b   []byte
	at  int
	err error
}

func (r *shapeReader) fail(why string) {
	if r.err == nil {
		r.err = shapeError(why)
	}
}

func (r *shapeReader) take(n int64) []byte {
	if n > int64(len(r.b)-r.at) {
		r.fail("ends early")
	}
	if r.err != nil {
		return nil
	}
	r.at += int(n)
	return r.b[r.at-int(n) : r.at : r.at]
}

func (r *shapeReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// sides reads a list of n numbers of size bytes. Its first byte cannot say
// 16, so nobody reads it.
func (r *shapeReader) sides(n int, marker byte, size int64) []int64 {
	r.byte()
	sides := make([]int64, n)
	for i := range sides {
		if r.byte() != marker {
			r.fail("no side where it is due")
		}
		b := r.take(size)
		switch {
		case r.err != nil:
			return sides
		case size == 8:
			sides[i] = int64(binary.BigEndian.Uint64(b))
		default:
			sides[i] = int64(int32(binary.BigEndian.Uint32(b)))
		}
	}
	return sides
}
