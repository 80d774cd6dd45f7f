package image

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// TableKind is the format of a table of images.
type TableKind string

// The formats of tables.
const (
	TableSTAR      TableKind = "star"      // RELION
	TableCryoSPARC TableKind = "cryosparc" // .cs: a NumPy structured array
	TableList      TableKind = "list"      // text, a location a line
)

// TableOptions says what is read of a table. The zero value is the advice.
type TableOptions struct {
	// Column holds the locations; "": rlnImageName of a STAR file, blob/path
	// and blob/idx of a .cs file. Of a .cs file it is what stands in front of
	// "/path" and "/idx".
	Column string
	// Clean takes out of paths what leads nowhere, so that "./A/../A/p.mrcs"
	// and "A/p.mrcs" are one key, and one file of a scratch.
	Clean bool
}

// TableRow is a row of a table of images.
type TableRow struct {
	ImageLocation
	Row  int64 // from 0
	Line int64 // of the text, from 1; 0 in a .cs file
	// Group is the optics group of a row of a STAR file; 0 if there is none.
	Group int64
	// PixelSize is in Å; 0 where it is not known. In a STAR file whose optics
	// table comes after the images it is known only by Group.
	PixelSize float64
	UID       uint64 // of a .cs file, 0 otherwise
}

// TableInfo is what a table is, known once all of it has been read.
type TableInfo struct {
	Kind   TableKind
	Block  string // of a STAR file: the block that the images are in
	Rows   int64
	Groups map[int64]OpticsGroup // of a STAR file of RELION 3.1 and later
}

// OpticsGroup is a row of a STAR file's optics table.
type OpticsGroup struct {
	Name      string
	PixelSize float64 // in Å; 0: not said
}

// ReadTable reads a table of images and calls each for every row, in order.
// The rows are streamed: memory goes with the number of files that the table
// names, not with its rows. name stands in errors. Which format it is, the
// first bytes tell.
//
// Keys are as the table has them, without the ">" of cryoSPARC; RELION and
// cryoSPARC write them relative to the project's directory. See Files. A byte
// that is not UTF-8 is U+FFFD in them, here as in other languages: no file has
// such a key.
//
// ErrCorrupt for a row that is damaged, naming its line; ErrInvalid for a
// location that cannot be, a STAR file of two tables of images, or of none,
// and a row of an optics group that there is not. ErrUnsupported for Python
// objects and for compressed .cs files. An error of each ends the reading and
// is returned as it is.
func ReadTable(ctx context.Context, r io.Reader, name string, o TableOptions, each func(TableRow) error) (TableInfo, error) {
	b := bufio.NewReaderSize(r, 1<<17)
	head, err := b.Peek(6)
	if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
		return TableInfo{}, err
	}
	t := &tableReader{ctx: ctx, name: name, o: o, each: each, keys: map[string]tableKey{}}
	switch {
	case bytes.HasPrefix(head, []byte("\x93NUMPY")):
		t.info.Kind = TableCryoSPARC
		err = t.readCS(b)
	case bytes.HasPrefix(head, []byte("\x94CSDAT")):
		err = fault.New(fault.ErrUnsupported, "cs", name, "a compressed table (CSDAT), save it as .npy format first")
	case strings.EqualFold(path.Ext(name), ".star"), looksLikeSTAR(b):
		t.info.Kind = TableSTAR
		err = t.readSTAR(b)
	default:
		t.info.Kind = TableList
		err = t.readList(b)
	}
	return t.info, err
}

// looksLikeSTAR looks for the first word that is not a comment.
func looksLikeSTAR(b *bufio.Reader) bool {
	head, _ := b.Peek(1 << 16) // whatever is wrong, reading says it
	for line := range bytes.Lines(head) {
		if word, _ := starWord(line); len(word) > 0 {
			return starIs(word, "data_")
		}
	}
	return false
}

// tableKey is a path as a table has it, and the key that it is.
type tableKey struct{ path, key string }

// tableReader is a table being read.
type tableReader struct {
	ctx  context.Context
	name string
	o    TableOptions
	each func(TableRow) error
	info TableInfo
	keys map[string]tableKey // by path, each once, however many rows name it
	last tableKey            // of the row before
}

// key returns the key of a path.
func (t *tableReader) key(b []byte) string {
	if t.last.path != string(b) {
		k, ok := t.keys[string(b)]
		if !ok {
			k.path = string(b)
			if k.key = k.path; t.o.Clean {
				k.key = path.Clean(k.path)
			}
			if !utf8.ValidString(k.key) {
				k.key = string([]rune(k.key))
			}
			t.keys[k.path] = k
		}
		t.last = k
	}
	return t.last.key
}

// row hands a row on.
func (t *tableReader) row(r TableRow) error {
	if t.info.Rows%4096 == 0 {
		if err := storage.Ended(t.ctx, t.name); err != nil {
			return err
		}
	}
	r.Row = t.info.Rows
	t.info.Rows++
	return t.each(r)
}

// location is ParseLocation, without memory of its own for each.
func (t *tableReader) location(text []byte) (ImageLocation, error) {
	at := bytes.IndexByte(text, '@')
	if at <= 0 || at == len(text)-1 || at > 18 {
		return ParseLocation(string(text))
	}
	var n int64
	for _, c := range text[:at] {
		if c < '0' || c > '9' {
			return ParseLocation(string(text))
		}
		n = n*10 + int64(c-'0')
	}
	if n == 0 {
		return ParseLocation(string(text))
	}
	return ImageLocation{t.key(text[at+1:]), n - 1}, nil
}

// readList reads a location a line. Blank lines and those that begin with "#"
// are passed over.
func (t *tableReader) readList(b *bufio.Reader) error {
	s := NewSTARScanner(b, t.name)
	for s.next() {
		s.row = s.line
		text := bytes.Trim(s.text, starBlanks)
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		if bytes.IndexByte(text, 0) >= 0 {
			s.fail("neither a STAR file, a .cs file nor a list")
			break
		}
		l, err := t.location(text)
		if err != nil {
			return s.wrap(err)
		}
		if err := t.row(TableRow{ImageLocation: l, Line: s.line}); err != nil {
			return err
		}
	}
	return s.Err()
}

// readSTAR finds the one table that has the column.
func (t *tableReader) readSTAR(b *bufio.Reader) error {
	column := t.o.Column
	if column == "" {
		column = "rlnImageName"
	}
	s := NewSTARScanner(b, t.name)
	used := map[int64]int64{} // optics groups, with the first line of each
	found := false
	for s.NextTable() {
		at := s.Column(column)
		switch {
		case at >= 0 && found:
			return fault.New(fault.ErrInvalid, "star", t.name, "_"+column+" in two tables: data_"+t.info.Block+" and data_"+s.Block())
		case at >= 0:
			found, t.info.Block = true, s.Block()
			if err := t.readImages(s, at, used); err != nil {
				return err
			}
		case s.Block() == "optics":
			if err := t.readOptics(s); err != nil {
				return err
			}
		}
	}
	if s.Err() != nil {
		return s.Err()
	}
	if !found {
		return fault.New(fault.ErrInvalid, "star", t.name, "no table has the column _"+column)
	}
	if t.info.Groups != nil {
		for group, line := range used {
			if _, ok := t.info.Groups[group]; !ok {
				return fault.New(fault.ErrInvalid, "star", t.name, "line "+strconv.FormatInt(line, 10)+": there is no optics group "+strconv.FormatInt(group, 10))
			}
		}
	}
	return nil
}

func (t *tableReader) readImages(s *STARScanner, at int, used map[int64]int64) error {
	groupAt := s.Column("rlnOpticsGroup")
	var last int64
	for s.NextRow() {
		l, err := t.location(s.Values()[at])
		if err != nil {
			return s.wrap(err)
		}
		r := TableRow{ImageLocation: l, Line: s.Line()}
		if groupAt >= 0 {
			if r.Group, err = starNumber(s.Values()[groupAt]); err != nil {
				return s.wrap(err)
			}
			if r.Group != last || t.info.Rows == 0 {
				last = r.Group
				if _, ok := used[last]; !ok && len(used) < 1<<16 {
					used[last] = s.Line()
				}
			}
			r.PixelSize = t.info.Groups[r.Group].PixelSize
		}
		if err := t.row(r); err != nil {
			return err
		}
	}
	return s.Err()
}

func (t *tableReader) readOptics(s *STARScanner) error {
	number, name, size := s.Column("rlnOpticsGroup"), s.Column("rlnOpticsGroupName"), s.Column("rlnImagePixelSize")
	if t.info.Groups == nil {
		t.info.Groups = map[int64]OpticsGroup{}
	}
	for number >= 0 && s.NextRow() {
		n, err := starNumber(s.Values()[number])
		if err != nil {
			return s.wrap(err)
		}
		if _, twice := t.info.Groups[n]; twice || len(t.info.Groups) == 1<<16 {
			return s.wrap(fault.New(fault.ErrInvalid, "star", t.name, "the optics group "+strconv.FormatInt(n, 10)+" twice, or too many groups"))
		}
		var g OpticsGroup
		if name >= 0 {
			g.Name = string(s.Values()[name])
		}
		if size >= 0 {
			if g.PixelSize, err = strconv.ParseFloat(string(s.Values()[size]), 64); err != nil {
				return s.wrap(badNumber(s.Values()[size]))
			}
		}
		t.info.Groups[n] = g
	}
	return s.Err()
}

func starNumber(b []byte) (int64, error) {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return 0, badNumber(b)
	}
	return n, nil
}

func badNumber(b []byte) error { return fault.New(fault.ErrCorrupt, "number", brief(b), "") }
