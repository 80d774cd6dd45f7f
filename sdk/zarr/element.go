package zarr

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
)

// element is what a chunk is made of, as it lies in memory. Elements of a
// variable length lie there as cells, which say where in an arena their bytes
// are, so that blocks of them are copied like any others.
type element struct {
	dtype    DataType
	size     int64  // bytes in memory
	fill     []byte // of one element in memory
	variable bool
}

// cellSize is the size of a cell: buffer, offset, length and a reserve, each
// a uint32.
const cellSize = 16

func newElement(dtype DataType, fill []byte) element {
	if n := dtype.Size(); n > 0 {
		return element{dtype: dtype, size: n, fill: fill}
	}
	return element{dtype: dtype, size: cellSize, fill: appendCell(nil, 0, 0, len(fill)), variable: true}
}

// parseElement reads the fill value of a type.
func parseElement(dtype DataType, raw json.RawMessage) (element, []byte, error) {
	fill, err := dtype.ParseFill(raw)
	if err != nil {
		return element{}, nil, err
	}
	return newElement(dtype, fill), fill, nil
}

func appendCell(b []byte, buf uint32, off, n int) []byte {
	b = binary.LittleEndian.AppendUint32(b, buf)
	b = binary.LittleEndian.AppendUint32(b, uint32(off))
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	return binary.LittleEndian.AppendUint32(b, 0)
}

// arena holds the bytes that the cells of one read point to. Its first buffer
// is the fill value. A nil arena is that of fixed-size elements.
type arena struct {
	mu   sync.Mutex
	bufs [][]byte
}

func newArena(variable bool, fill []byte) *arena {
	if !variable {
		return nil
	}
	return &arena{bufs: [][]byte{fill}}
}

// fork returns an arena with the same buffers. What is added to either is not
// in the other: chunks that are written side by side each have their own, and
// let go of what they read when they are done.
func (a *arena) fork() *arena {
	if a == nil {
		return nil
	}
	return &arena{bufs: slices.Clone(a.bufs)}
}

// add keeps a buffer and returns its number.
func (a *arena) add(b []byte) uint32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bufs = append(a.bufs, b)
	return uint32(len(a.bufs) - 1)
}

// flatten turns cells into lengths and bytes, which is how elements of a
// variable length leave this package.
func (a *arena) flatten(cells, dst []byte, limit int64) ([]byte, error) {
	total := int64(0)
	for i := 0; i < len(cells); i += cellSize {
		total += 4 + int64(binary.LittleEndian.Uint32(cells[i+8:]))
	}
	if total > limit {
		return nil, fault.New(fault.ErrLimit, "zarr", "", "the elements have "+itoa(total)+" bytes, over the limit of "+itoa(limit))
	}
	out := buffer(dst, total)[:0]
	for i := 0; i < len(cells); i += cellSize {
		b := a.at(cells[i:])
		out = binary.LittleEndian.AppendUint32(out, uint32(len(b)))
		out = append(out, b...)
	}
	return out, nil
}

// at returns the bytes that a cell points to. Nobody may add a buffer
// meanwhile.
func (a *arena) at(cell []byte) []byte {
	buf, off, n := binary.LittleEndian.Uint32(cell), binary.LittleEndian.Uint32(cell[4:]), binary.LittleEndian.Uint32(cell[8:])
	return a.bufs[buf][off : off+n]
}

// cells is the inverse of flatten: it keeps flat in the arena and returns a
// cell for each of n elements. ErrInvalid if flat is not n elements.
func (a *arena) cells(flat []byte, n int64, t variableType) ([]byte, error) {
	wrong := func(why string) error { return fault.New(fault.ErrInvalid, "zarr", "", why) }
	if int64(len(flat)) > 1<<32-1 {
		return nil, fault.New(fault.ErrLimit, "zarr", "", "elements of "+itoa(int64(len(flat)))+" bytes in one write, over the limit of 4 GiB") // cells count in 32 bits
	}
	if n > int64(len(flat))/4 {
		return nil, wrong("fewer than " + itoa(n) + " elements")
	}
	buf := a.add(flat)
	out := make([]byte, 0, n*cellSize)
	off := 0
	for range n {
		if len(flat)-off < 4 {
			return nil, wrong("fewer than " + itoa(n) + " elements")
		}
		size := binary.LittleEndian.Uint32(flat[off:])
		off += 4
		if int64(size) > int64(len(flat)-off) {
			return nil, wrong("an element passes the end")
		}
		if !t.check(flat[off : off+int(size)]) {
			return nil, wrong("an element is not UTF-8")
		}
		out = appendCell(out, buf, off, int(size))
		off += int(size)
	}
	if off != len(flat) {
		return nil, wrong("more than " + itoa(n) + " elements")
	}
	return out, nil
}
