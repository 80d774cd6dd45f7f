package image

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
)

const starBlanks = " \t\v\f\r"

func isBlank(c byte) bool { return c == ' ' || c-'\t' <= '\r'-'\t' }

// starWord returns the first word of a line, empty at its end and before a
// comment.
func starWord(text []byte) (word, rest []byte) {
	i := 0
	for i < len(text) && isBlank(text[i]) {
		i++
	}
	if i == len(text) || text[i] == '#' {
		return nil, nil
	}
	end := i
	for end < len(text) && !isBlank(text[end]) {
		end++
	}
	return text[i:end], text[end:]
}

// starIs reports whether a word begins with a keyword, in any case.
func starIs(word []byte, keyword string) bool {
	return len(word) >= len(keyword) && strings.EqualFold(string(word[:len(keyword)]), keyword)
}

// collect makes values of exactly want values: those of text and, where there
// are too few, of text fields that follow. They lie in the line unless the
// row has several.
func (s *STARScanner) collect(text []byte, want int) bool {
	s.values = s.values[:0]
	if !s.split(text, want) {
		return false
	}
	if len(s.values) == want {
		return true
	}
	// The line will be overwritten by the next one: fold takes the values over.
	s.folded = s.folded[:0]
	s.fold(0)
	for len(s.values) < want {
		had := len(s.values)
		if !s.next() {
			return s.few(want)
		}
		if len(s.text) == 0 || s.text[0] != ';' {
			s.kept = true
			return s.few(want)
		}
		rest, ok := s.textField()
		if !ok || !s.split(rest, want) {
			return false
		}
		if s.fold(had); len(s.folded) > starLine {
			return s.stop(fault.ErrLimit, "a row of more than 1 MiB")
		}
	}
	return true
}

func (s *STARScanner) few(want int) bool {
	if s.err == nil {
		s.line = s.row
	}
	return s.fail("too few values: " + strconv.Itoa(len(s.values)) + ", want " + strconv.Itoa(want))
}

// fold copies the values from the i-th on out of the line. Where the memory
// moves, the values before keep the old one.
func (s *STARScanner) fold(i int) {
	for ; i < len(s.values); i++ {
		from := len(s.folded)
		s.folded = append(s.folded, s.values[i]...)
		s.values[i] = s.folded[from:len(s.folded):len(s.folded)]
	}
}

// textField reads the value whose first line is the scanner's, which begins
// with a semicolon, up to the line that begins with the next one, and returns
// what follows that.
func (s *STARScanner) textField() (rest []byte, ok bool) {
	field := bytes.Clone(s.text[1:])
	for s.next() {
		if len(s.text) > 0 && s.text[0] == ';' {
			s.values = append(s.values, field)
			return s.text[1:], true
		}
		if field = append(append(field, '\n'), s.text...); len(field) > starLine {
			return nil, s.stop(fault.ErrLimit, "text of more than 1 MiB")
		}
	}
	return nil, s.fail("text that does not end")
}

// split appends the values of a line, want in all at most.
func (s *STARScanner) split(text []byte, want int) bool {
	for i := 0; i < len(text); {
		c := text[i]
		if isBlank(c) {
			i++
			continue
		}
		if c == '#' {
			return true
		}
		if len(s.values) == want {
			return s.fail("too many values: want " + strconv.Itoa(want))
		}
		from, end := i, i
		if c == '\'' || c == '"' {
			// A quote ends at the next one that a blank follows.
			from, end = i+1, i+1
			for end < len(text) && (text[end] != c || end+1 < len(text) && !isBlank(text[end+1])) {
				end++
			}
			if end == len(text) {
				return s.fail("a quote that does not end")
			}
			i = end + 1
		} else {
			for end < len(text) && (text[end] > ' ' || !isBlank(text[end])) { // most are more
				end++
			}
			i = end
		}
		s.values = append(s.values, text[from:end:end])
	}
	return true
}
