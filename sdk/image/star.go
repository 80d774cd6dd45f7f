package image

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// STARScanner reads the tables of a STAR file, in one pass and a row at a
// time: a loop_ with its labels and rows, or a list of labels with a value
// each, which is a table of one row.
//
//	s := image.NewSTARScanner(r, "particles.star")
//	for s.NextTable() {
//		for s.NextRow() {
//			use(s.Block(), s.Labels(), s.Values())
//		}
//	}
//	return s.Err()
//
// Rows end with their line; a row of too few or too many values is an error,
// never a row less. Blank lines and comments may stand anywhere. Values may be
// quoted, or text between lines that begin with a semicolon. The first error
// ends the scan. Not for concurrent use.
//
// STAR as RELION uses it: https://relion.readthedocs.io/en/latest/Reference/Conventions.html;
// the grammar: Hall, J. Chem. Inf. Comput. Sci. 31, 326 (1991).
type STARScanner struct {
	r    *bufio.Reader
	name string
	line int64 // of the text, from 1; 0 before the first
	text []byte
	long []byte // text of a line that is longer than the reader's buffer
	kept bool   // text has not been used up
	err  error

	block   string
	labels  []string
	loop    bool
	inTable bool // NextRow has not come to the end of the table
	row     int64
	values  [][]byte
	pairs   []byte // what the values of a table of one row lie in
	ends    []int
	folded  []byte // what the values of a row of several lines lie in
}

// starLine bounds a line, text between semicolons, and a row of several of
// them.
const starLine = 1 << 20

// starLabels bounds the columns of a table.
const starLabels = 1 << 12

// NewSTARScanner returns a scanner over r. name stands in errors.
func NewSTARScanner(r io.Reader, name string) *STARScanner {
	return &STARScanner{r: bufio.NewReaderSize(r, 1<<17), name: name}
}

// Err returns what ended the scan: nil at the end of the file, ErrCorrupt for
// what is no STAR file, ErrLimit for a line beyond 1 MiB or more than 4096
// columns, or the error of the reader. It names the line.
func (s *STARScanner) Err() error { return s.err }

// Block returns the name of the block that the table is in: "particles" for
// data_particles, "" for data_.
func (s *STARScanner) Block() string { return s.block }

// Labels returns the labels of the table, without the leading underscore.
func (s *STARScanner) Labels() []string { return s.labels }

// Column returns the place of a label, -1 if the table has none of that name.
func (s *STARScanner) Column(label string) int {
	for i, l := range s.labels {
		if l == label {
			return i
		}
	}
	return -1
}

// Values returns the values of the row, one for each label, without quotes.
// They are the scanner's until the next call.
func (s *STARScanner) Values() [][]byte { return s.values }

// Line returns the number of the line that the row began in, from 1.
func (s *STARScanner) Line() int64 { return s.row }

// NextTable goes to the next table, over what is left of this one. It returns
// false at the end of the file and after an error.
func (s *STARScanner) NextTable() bool {
	for s.NextRow() {
	}
	s.labels, s.loop, s.values = nil, false, nil
	for s.next() {
		word, rest := starWord(s.text)
		switch {
		case len(word) == 0:
		case starIs(word, "data_"):
			s.block = string(word[len("data_"):])
			if !s.alone(rest) {
				return false
			}
		case starIs(word, "loop_") && len(word) == len("loop_"):
			return s.alone(rest) && s.header()
		case word[0] == '_':
			s.kept = true
			return s.pairList()
		default:
			return s.fail("a value without a label: " + brief(word))
		}
	}
	return false
}

// alone holds that nothing but a comment stands behind a word.
func (s *STARScanner) alone(rest []byte) bool {
	if word, _ := starWord(rest); len(word) > 0 {
		return s.fail("more on the line than is meant: " + brief(word))
	}
	return true
}

// header reads the labels of a loop.
func (s *STARScanner) header() bool {
	for s.next() {
		word, rest := starWord(s.text)
		if len(word) == 0 {
			continue
		}
		if word[0] != '_' {
			s.kept = true
			break
		}
		if !s.alone(rest) || !s.label(word) {
			return false
		}
	}
	if s.err == nil && len(s.labels) == 0 {
		return s.fail("a loop_ without labels")
	}
	s.loop, s.inTable = true, true
	return s.err == nil
}

func (s *STARScanner) label(word []byte) bool {
	l := string(word[1:])
	switch {
	case l == "":
		return s.fail("a label without a name")
	case len(s.labels) == starLabels:
		return s.stop(fault.ErrLimit, "more than "+strconv.Itoa(starLabels)+" labels")
	case s.Column(l) >= 0:
		return s.fail("the label _" + l + " twice")
	}
	s.labels = append(s.labels, l)
	return true
}

// pairList reads labels with a value each, up to what is not one.
func (s *STARScanner) pairList() bool {
	s.pairs, s.ends = s.pairs[:0], s.ends[:0]
	for s.next() {
		word, rest := starWord(s.text)
		if len(word) == 0 {
			continue
		}
		if word[0] != '_' {
			s.kept = true
			break
		}
		if !s.label(word) {
			return false
		}
		s.row = s.line
		if !s.collect(rest, 1) {
			return false
		}
		s.pairs = append(s.pairs, s.values[0]...)
		s.ends = append(s.ends, len(s.pairs))
		if len(s.pairs) > starLine {
			return s.stop(fault.ErrLimit, "values of more than 1 MiB")
		}
	}
	s.loop, s.inTable, s.values = false, true, nil
	return s.err == nil
}

// NextRow goes to the next row of the table. It returns false at its end and
// after an error.
func (s *STARScanner) NextRow() bool {
	if !s.inTable || s.err != nil {
		return false
	}
	if !s.loop {
		s.inTable, s.values = false, s.values[:0]
		from := 0
		for _, end := range s.ends {
			s.values = append(s.values, s.pairs[from:end:end])
			from = end
		}
		return true
	}
	for s.next() {
		b := bytes.TrimLeft(s.text, starBlanks)
		if len(b) == 0 || b[0] == '#' {
			continue
		}
		if b[0] == '_' || starKeyword(b) {
			s.kept = true
			break
		}
		s.row = s.line
		if s.text[0] == ';' { // text is the first value
			s.kept = true
			return s.collect(nil, len(s.labels))
		}
		return s.collect(s.text, len(s.labels))
	}
	s.inTable = false
	return false
}

// starKeyword reports whether a line begins a block or a loop. Where more
// stands on it, it is a row whose first value only looks like that: a file in
// a directory data_1, say.
func starKeyword(b []byte) bool {
	word, rest := starWord(b)
	if more, _ := starWord(rest); len(more) > 0 {
		return false
	}
	return starIs(word, "data_") || starIs(word, "loop_") && len(word) == len("loop_")
}

// next goes to the next line.
func (s *STARScanner) next() bool {
	if s.kept {
		s.kept = false
		return true
	}
	if s.err != nil {
		return false
	}
	text, err := s.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		s.long = s.long[:0]
		for err == bufio.ErrBufferFull && len(s.long) <= starLine {
			s.long = append(s.long, text...)
			text, err = s.r.ReadSlice('\n')
		}
		s.long = append(s.long, text...)
		text = s.long
	}
	s.line++
	switch {
	case len(text) > starLine:
		return s.stop(fault.ErrLimit, "a line of more than 1 MiB")
	case err != nil && err != io.EOF:
		s.err = err
		return false
	case err == io.EOF && len(text) == 0:
		return false
	}
	s.text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	return true
}

func (s *STARScanner) fail(why string) bool { return s.stop(fault.ErrCorrupt, why) }

func (s *STARScanner) stop(kind error, why string) bool {
	if s.err == nil {
		s.err = fault.New(kind, "star", s.name, "line "+strconv.FormatInt(s.line, 10)+": "+why)
	}
	return false
}

// brief is a value as errors show it.
func brief(b []byte) string {
	if len(b) > 60 {
		return strconv.Quote(string(b[:60])) + "…"
	}
	return strconv.Quote(string(b))
}

// wrap says at which line of which file err arose.
func (s *STARScanner) wrap(err error) error {
	if err == nil || errors.Is(err, fault.ErrCancelled) {
		return err
	}
	return &fault.Error{Format: "star", Item: s.name, Off: -1, Why: "line " + strconv.FormatInt(s.row, 10), Err: err}
}
