package image

import (
	"bufio"
	"bytes"
	"io"
	"math"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// readCS reads a .cs file of cryoSPARC, up to format version 2 of NumPy.
func (t *tableReader) readCS(b *bufio.Reader) error {
	npy, err := readNPYHeader(b, t.name)
	if err != nil {
		return err
	}
	prefix := t.o.Column
	if prefix == "" {
		prefix = "blob"
	}
	pathField, hasPath := npy.fields[prefix+"/path"]
	index, hasIndex := npy.fields[prefix+"/idx"]
	switch {
	case !hasPath:
		return fault.New(fault.ErrInvalid, "cs", t.name, "there is no column "+prefix+"/path")
	case pathField.kind != 'S' || pathField.count != 1:
		return fault.New(fault.ErrUnsupported, "cs", t.name, prefix+"/path is not text of fixed length")
	case hasIndex && (index.kind != 'u' && index.kind != 'i' || index.count != 1):
		return fault.New(fault.ErrUnsupported, "cs", t.name, prefix+"/idx is not a number")
	}
	size, hasSize := npy.fields[prefix+"/psize_A"]
	uid, hasUID := npy.fields["uid"]
	record := make([]byte, npy.record)
	for i := range npy.rows {
		if _, err := io.ReadFull(b, record); err != nil {
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				err = fault.New(fault.ErrCorrupt, "cs", t.name, "truncated data: "+strconv.FormatInt(npy.rows, 10)+" rows stated, "+strconv.FormatInt(i, 10)+" are there")
			}
			return err
		}
		text := record[pathField.off:][:pathField.size]
		text = bytes.TrimPrefix(bytes.TrimRight(text, "\x00"), []byte(">"))
		r := TableRow{ImageLocation: ImageLocation{Key: t.key(text), Index: WholeFile}}
		if hasIndex {
			n, ok := index.whole(record)
			if r.Index = int64(n); !ok || r.Index < 0 {
				return fault.New(fault.ErrInvalid, "cs", t.name, "row "+strconv.FormatInt(i, 10)+": the index is negative, or too large")
			}
		}
		if len(text) == 0 {
			return fault.New(fault.ErrInvalid, "cs", t.name, "row "+strconv.FormatInt(i, 10)+": the path is empty")
		}
		if hasSize {
			r.PixelSize = size.float(record)
		}
		if hasUID {
			r.UID, _ = uid.whole(record)
		}
		if err := t.row(r); err != nil {
			return err
		}
	}
	return nil
}

// bits returns the first element of the field in a record, 0 where there is
// none and for one of more than 8 bytes.
func (f npyField) bits(record []byte) (n uint64) {
	if f.size > 8 || f.count < 1 {
		return 0
	}
	b := record[f.off:][:f.size]
	for i := range b {
		if f.big {
			n = n<<8 | uint64(b[i])
		} else {
			n |= uint64(b[i]) << (8 * i)
		}
	}
	return n
}

// whole returns a whole number that is not negative; not ok if it is, or is
// none.
func (f npyField) whole(record []byte) (n uint64, ok bool) {
	n = f.bits(record)
	negative := f.kind == 'i' && f.size > 0 && f.size <= 8 && n>>(8*f.size-1) != 0
	return n, (f.kind == 'u' || f.kind == 'i') && f.count > 0 && f.size > 0 && f.size <= 8 && !negative
}

// float returns a float of 4 or 8 bytes, 0 for what is none.
func (f npyField) float(record []byte) float64 {
	switch {
	case f.count < 1 || f.kind != 'f':
		return 0
	case f.size == 4:
		return float64(math.Float32frombits(uint32(f.bits(record))))
	case f.size == 8:
		return math.Float64frombits(f.bits(record))
	}
	return 0
}
