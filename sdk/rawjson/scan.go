package rawjson

import (
	"encoding/json"
	"strconv"
)

// MaxDepth bounds the nesting of lists and objects.
const MaxDepth = 64

// Error says where a text is no JSON, or a value not of the kind that was
// asked for.
type Error struct {
	Off int // byte offset in the text; -1: the whole value
	Why string
}

// Error returns one line.
func (e *Error) Error() string {
	if e.Off < 0 {
		return e.Why
	}
	return "JSON at " + strconv.Itoa(e.Off) + ": " + e.Why
}

// scanner goes through a text once, from at. The first thing that is wrong
// moves it to the end.
type scanner struct {
	raw []byte
	at  int
	err *Error
}

func (s *scanner) fail(why string) {
	if s.err == nil {
		s.err = &Error{s.at, why}
	}
	s.at = len(s.raw)
}

// peek is the next byte after white space, 0 at the end.
func (s *scanner) peek() byte {
	for ; s.at < len(s.raw); s.at++ {
		switch c := s.raw[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// next is the byte at the scanner, 0 at the end.
func (s *scanner) next() byte {
	if s.at < len(s.raw) {
		return s.raw[s.at]
	}
	return 0
}

// end wants nothing but white space.
func (s *scanner) end() {
	if s.peek(); s.at < len(s.raw) {
		s.fail("more after the value")
	}
}

// unexpected fails at the byte that is next.
func (s *scanner) unexpected(want string) {
	if s.at >= len(s.raw) {
		s.fail("ends where " + want + " was expected")
		return
	}
	s.fail(strconv.QuoteRune(rune(s.raw[s.at])) + " where " + want + " was expected")
}

// value takes one value and returns its text. depth is how many lists and
// objects it lies in.
func (s *scanner) value(depth int) json.RawMessage {
	c := s.peek()
	from := s.at
	switch {
	case c == '{':
		s.object(depth, nil)
	case c == '[':
		s.list(depth, nil)
	case c == '"':
		s.text()
	case c == '-' || c >= '0' && c <= '9':
		s.number()
	case c == 't':
		s.word("true")
	case c == 'f':
		s.word("false")
	case c == 'n':
		s.word("null")
	default:
		s.unexpected("a value")
	}
	if s.err != nil {
		return nil
	}
	return s.raw[from:s.at:s.at]
}

// object takes an object and calls each, unless it is nil, with each member.
func (s *scanner) object(depth int, each func(name, value json.RawMessage)) {
	if depth == MaxDepth {
		s.fail("nested deeper than " + strconv.Itoa(MaxDepth))
		return
	}
	s.at++
	if s.peek() == '}' {
		s.at++
		return
	}
	for s.err == nil {
		if s.peek() != '"' {
			s.unexpected("a name")
			return
		}
		name := s.text()
		if s.err == nil && s.peek() != ':' {
			s.unexpected("':'")
		}
		s.at++
		value := s.value(depth + 1)
		if s.err != nil {
			return
		}
		if each != nil {
			each(name, value)
		}
		if s.more('}') {
			return
		}
	}
}

// list takes a list and calls each, unless it is nil, with each member.
func (s *scanner) list(depth int, each func(value json.RawMessage)) {
	if depth == MaxDepth {
		s.fail("nested deeper than " + strconv.Itoa(MaxDepth))
		return
	}
	s.at++
	if s.peek() == ']' {
		s.at++
		return
	}
	for s.err == nil {
		value := s.value(depth + 1)
		if s.err != nil {
			return
		}
		if each != nil {
			each(value)
		}
		if s.more(']') {
			return
		}
	}
}

// more takes a comma, or the end, which it reports.
func (s *scanner) more(end byte) (ended bool) {
	switch s.peek() {
	case end:
		s.at++
		return true
	case ',':
		s.at++
	default:
		s.unexpected("',' or " + strconv.QuoteRune(rune(end)))
	}
	return false
}

// text takes a string and returns it with its quotes.
func (s *scanner) text() json.RawMessage {
	from := s.at
	for s.at++; s.at < len(s.raw); s.at++ {
		switch c := s.raw[s.at]; {
		case c == '"':
			s.at++
			return s.raw[from:s.at:s.at]
		case c < ' ':
			s.unexpected("text")
			return nil
		case c == '\\':
			s.at++
			switch s.next() {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					s.at++
					if !isHex(s.next()) {
						s.unexpected("a hexadecimal digit")
						return nil
					}
				}
			default:
				s.unexpected("an escape")
				return nil
			}
		}
	}
	s.fail("ends within a string")
	return nil
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func (s *scanner) number() {
	if s.next() == '-' {
		s.at++
	}
	if s.next() == '0' { // no digit follows a leading zero
		s.at++
	} else {
		s.digits()
	}
	if s.next() == '.' {
		s.at++
		s.digits()
	}
	if c := s.next(); c == 'e' || c == 'E' {
		s.at++
		if c := s.next(); c == '+' || c == '-' {
			s.at++
		}
		s.digits()
	}
}

// digits takes one digit or more.
func (s *scanner) digits() {
	from := s.at
	for c := s.next(); c >= '0' && c <= '9'; c = s.next() {
		s.at++
	}
	if s.at == from {
		s.unexpected("a digit")
	}
}

func (s *scanner) word(w string) {
	if len(s.raw)-s.at < len(w) || string(s.raw[s.at:s.at+len(w)]) != w {
		s.unexpected(w)
		return
	}
	s.at += len(w)
}
