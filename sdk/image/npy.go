package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// npyField is a column of a NumPy structured array.
type npyField struct {
	kind  byte  // 'i', 'u', 'f', 'S', …, as NumPy names them; 'V' for what has fields of its own
	size  int   // bytes of one element
	big   bool  // big endian
	count int64 // elements
	off   int   // in the record
}

// npyTable is the header of a NumPy file that holds a structured array of one
// axis.
type npyTable struct {
	rows   int64
	record int // bytes
	fields map[string]npyField
}

// The bounds of what a header may say.
const (
	npyHeaderMost = 1 << 20
	npyRecordMost = 1 << 20
	npyFieldsMost = 1 << 12
	npyDepthMost  = 8
)

// readNPYHeader reads the header of a NumPy file, up to the first record.
//
// ErrCorrupt for what is none, ErrUnsupported for what is not a structured
// array of one axis and for Python objects, which are pickles: reading them
// would run code. ErrLimit for a header beyond 1 MiB and the like.
//
// NPY format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
func readNPYHeader(r io.Reader, name string) (*npyTable, error) {
	bad := func(why string) error { return fault.New(fault.ErrCorrupt, "npy", name, "bad header: "+why) }
	var head [12]byte
	if err := readFull(r, head[:8], name); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(head[:], []byte("\x93NUMPY")) {
		return nil, bad("not a NumPy file")
	}
	var n int64
	switch major := head[6]; major {
	case 1:
		if err := readFull(r, head[:2], name); err != nil {
			return nil, err
		}
		n = int64(binary.LittleEndian.Uint16(head[:]))
	case 2, 3:
		if err := readFull(r, head[:4], name); err != nil {
			return nil, err
		}
		n = int64(binary.LittleEndian.Uint32(head[:]))
	default:
		return nil, fault.New(fault.ErrUnsupported, "npy", name, "format version "+strconv.Itoa(int(major)))
	}
	if n > npyHeaderMost {
		return nil, fault.New(fault.ErrLimit, "npy", name, "a header of "+strconv.FormatInt(n, 10)+" bytes")
	}
	text := make([]byte, n)
	if err := readFull(r, text, name); err != nil {
		return nil, err
	}
	t, err := parseNPYHeader(text)
	if err != nil {
		if e := (*fault.Error)(nil); errors.As(err, &e) {
			e.Item = name
		}
		return nil, err
	}
	return t, nil
}

func readFull(r io.Reader, b []byte, name string) error {
	_, err := io.ReadFull(r, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = fault.New(fault.ErrCorrupt, "npy", name, "truncated header")
	}
	return err
}

// parseNPYHeader reads the dictionary of Python literals. It knows the few
// forms that NumPy writes and evaluates nothing.
func parseNPYHeader(text []byte) (*npyTable, error) {
	p := &literal{text: text}
	t := &npyTable{rows: -1}
	seen := map[string]bool{}
	p.want('{')
	for p.err == nil && !p.try('}') {
		key := p.string()
		p.want(':')
		if seen[key] {
			p.fail("the key " + key + " twice")
		}
		seen[key] = true
		switch key {
		case "descr":
			t.fields = map[string]npyField{}
			if p.peek() != '[' {
				return nil, fault.New(fault.ErrUnsupported, "npy", "", "not a table: one column without a name")
			}
			t.record = p.fields("", 0, 0, t.fields)
		case "fortran_order":
			p.word() // the same for one axis
		case "shape":
			shape := p.shape()
			if p.err == nil && len(shape) != 1 {
				return nil, fault.New(fault.ErrUnsupported, "npy", "", "not a table: "+strconv.Itoa(len(shape))+" axes")
			}
			if len(shape) == 1 {
				t.rows = shape[0]
			}
		default:
			p.fail("the key " + strconv.Quote(key))
		}
		if !p.try(',') && p.peek() != '}' {
			p.fail("no comma")
		}
	}
	p.space()
	switch {
	case p.err != nil:
		return nil, p.err
	case p.at < len(text):
		p.fail("more than one value")
	case t.fields == nil || t.rows < 0:
		p.fail("descr or shape is missing")
	case t.record == 0:
		p.fail("records of no bytes")
	}
	return t, p.err
}

// fields reads a list of (name, type) and (name, type, shape) at an offset in
// the record, and returns the bytes that they take in all.
func (p *literal) fields(prefix string, off, depth int, into map[string]npyField) (size int) {
	if depth > npyDepthMost {
		p.stop(fault.ErrLimit, "fields nested too deep")
	}
	p.want('[')
	for p.err == nil && !p.try(']') {
		p.want('(')
		name := p.name()
		p.want(',')
		f := npyField{kind: 'V', count: 1, off: off + size}
		if p.peek() == '[' {
			f.size = p.fields(prefix+name+"/", f.off, depth+1, into)
		} else {
			f.kind, f.size, f.big = p.dtype()
		}
		if p.try(',') && p.peek() != ')' {
			f.count = checkedBytes(1, p.shape())
		}
		p.try(',')
		p.want(')')
		n := checkedBytes(int64(f.size), []int64{f.count}) // of no count either, -1
		if p.err == nil && (n < 0 || n > npyRecordMost-int64(f.off)) {
			p.stop(fault.ErrLimit, "records of more than 1 MiB")
		}
		if p.err != nil {
			return 0
		}
		size += int(n)
		if name != "" { // else padding
			p.add(prefix+name, f, into)
		}
		if !p.try(',') && p.peek() != ']' {
			p.fail("no comma")
		}
	}
	return size
}

func (p *literal) add(name string, f npyField, into map[string]npyField) {
	if _, twice := into[name]; twice {
		p.fail("the field " + strconv.Quote(name) + " twice")
	}
	if into[name] = f; len(into) > npyFieldsMost {
		p.stop(fault.ErrLimit, "too many fields")
	}
}

// name reads a field's name, or (title, name).
func (p *literal) name() string {
	if !p.try('(') {
		return p.string()
	}
	p.string()
	p.want(',')
	name := p.string()
	p.try(',')
	p.want(')')
	return name
}

// dtype reads a type such as "<f4" or "|S64".
func (p *literal) dtype() (kind byte, size int, big bool) {
	s := p.string()
	if p.err != nil {
		return 0, 0, false
	}
	if len(s) > 0 && (s[0] == '<' || s[0] == '>' || s[0] == '|' || s[0] == '=') {
		big = s[0] == '>'
		s = s[1:]
	}
	if s == "" {
		p.fail("a type without a name")
		return 0, 0, false
	}
	kind = s[0]
	if kind == 'O' {
		p.stop(fault.ErrUnsupported, "a field of Python objects: they are pickles, which are not read")
		return 0, 0, false
	}
	n, err := strconv.ParseUint(digits(s[1:]), 10, 31)
	if err != nil || n > npyRecordMost {
		p.fail("the type " + strconv.Quote(s))
		return 0, 0, false
	}
	if kind == 'U' {
		n *= 4
	}
	return kind, int(n), big
}

// digits is the number in front of a unit: dates carry one ("M8[ns]").
func digits(s string) string {
	for i := range len(s) {
		if s[i] == '[' {
			return s[:i]
		}
	}
	return s
}
