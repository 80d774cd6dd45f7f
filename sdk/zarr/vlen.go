package zarr

import (
	"context"
	"encoding/binary"

	"github.com/gridhold/gridhold/sdk/fault"
)

// vlen is the codecs "vlen-utf8" and "vlen-bytes": the number of elements,
// then each element's length and bytes; all numbers are little-endian uint32.
//
// https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/vlen-utf8
type vlen struct {
	name  string
	dtype variableType
	limit int64 // bytes of a chunk
}

func parseVlen(field string, e extension, elem element, o Options) (serializer, error) {
	if err := e.only(field); err != nil {
		return nil, err
	}
	t, ok := elem.dtype.(variableType)
	if !ok || e.name == "vlen-utf8" != t.utf8 {
		return nil, malformed(field, e.name+" does not hold elements of type "+elem.dtype.Name())
	}
	return vlen{e.name, t, o.Limits.chunk()}, nil
}

// decode returns cells, and keeps src in the arena.
func (v vlen) decode(_ context.Context, ar *arena, dst, src []byte, shape []int64) ([]byte, error) {
	want, _ := product(shape...)
	if len(src) < 4 {
		return nil, v.corrupt(0, "has no count")
	}
	if n := int64(binary.LittleEndian.Uint32(src)); n != want {
		return nil, v.corrupt(0, "has "+itoa(n)+" elements, want "+itoa(want))
	}
	if want > int64(len(src)-4)/4 {
		return nil, v.corrupt(4, itoa(want)+" elements do not fit in "+itoa(int64(len(src)))+" bytes")
	}
	buf := ar.add(src)
	cells := buffer(dst, want*cellSize)[:0]
	off := 4
	for range want {
		if len(src)-off < 4 {
			return nil, v.corrupt(off, "ends before a length")
		}
		n := binary.LittleEndian.Uint32(src[off:])
		off += 4
		if int64(n) > int64(len(src)-off) {
			return nil, v.corrupt(off, "an element of "+itoa(int64(n))+" bytes passes the end")
		}
		if !v.dtype.check(src[off : off+int(n)]) {
			return nil, v.corrupt(off, "is not UTF-8")
		}
		cells = appendCell(cells, buf, off, int(n))
		off += int(n)
	}
	if off != len(src) {
		return nil, v.corrupt(off, itoa(int64(len(src)-off))+" bytes are left over")
	}
	return cells, nil
}

func (v vlen) corrupt(off int, why string) error {
	return fault.At(fault.ErrCorrupt, v.name, "", int64(off), why)
}

// encodedSize is the limit of a chunk: the elements tell nothing.
func (v vlen) encodedSize([]int64) (int64, bool) { return v.limit, false }
