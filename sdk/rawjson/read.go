package rawjson

import (
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"
)

// Check says why raw is not one JSON value; nil: it is one. Like all errors
// of this package, an [*Error].
func Check(raw []byte) error {
	return only(raw, func(s *scanner) { s.value(0) })
}

// only runs take over a whole text.
func only(raw []byte, take func(*scanner)) error {
	s := scanner{raw: raw}
	s.peek()
	if take(&s); s.err == nil {
		s.end()
	}
	if s.err != nil {
		return s.err
	}
	return nil
}

// Object returns the members of an object by name. The values share raw's
// memory.
func Object(raw []byte) (map[string]json.RawMessage, error) {
	if err := kind(raw, '{', "an object"); err != nil {
		return nil, err
	}
	o := map[string]json.RawMessage{}
	err := only(raw, func(s *scanner) {
		s.object(0, func(name, value json.RawMessage) { o[unquote(name)] = value })
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// List returns the members of a list, which share raw's memory; an empty
// list is not nil.
func List(raw []byte) ([]json.RawMessage, error) {
	if err := kind(raw, '[', "a list"); err != nil {
		return nil, err
	}
	l := []json.RawMessage{}
	err := only(raw, func(s *scanner) {
		s.list(0, func(value json.RawMessage) { l = append(l, value) })
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// String returns the text of a string.
func String(raw []byte) (string, error) {
	if err := kind(raw, '"', "a string"); err != nil {
		return "", err
	}
	var t json.RawMessage
	if err := only(raw, func(s *scanner) { t = s.text() }); err != nil {
		return "", err
	}
	return unquote(t), nil
}

// IsNumber reports whether raw is a number and nothing else, white space
// included.
func IsNumber(raw []byte) bool {
	s := scanner{raw: raw}
	s.number()
	return s.err == nil && s.at == len(raw)
}

// kind refuses a value that does not begin as it should: first for what is
// no JSON at all.
func kind(raw []byte, first byte, want string) error {
	s := scanner{raw: raw}
	c := s.peek()
	if c == first {
		return nil
	}
	if err := Check(raw); err != nil {
		return err
	}
	got := "a number"
	switch c {
	case '{':
		got = "an object"
	case '[':
		got = "a list"
	case '"':
		got = "a string"
	case 't', 'f':
		got = "a boolean"
	case 'n':
		got = "null"
	}
	return &Error{-1, "is " + got + ", want " + want}
}

// unquote is the text of a string that was scanned.
func unquote(raw []byte) string {
	raw = raw[1 : len(raw)-1]
	plain := true
	for _, c := range raw {
		plain = plain && c != '\\' && c < utf8.RuneSelf
	}
	if plain {
		return string(raw)
	}
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		if raw[0] != '\\' {
			r, n := utf8.DecodeRune(raw)
			out = utf8.AppendRune(out, r)
			raw = raw[n:]
			continue
		}
		c := raw[1]
		if c != 'u' {
			if at := escapedIn(c); at != 0 {
				c = at
			}
			out = append(out, c)
			raw = raw[2:]
			continue
		}
		r := unit(raw)
		raw = raw[6:]
		if utf16.IsSurrogate(r) {
			pair := utf16.DecodeRune(r, unit(raw))
			if pair != utf8.RuneError {
				raw = raw[6:]
			}
			r = pair
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

// escapedIn is the control character that a letter stands for after a
// backslash, 0 for what stands for itself.
func escapedIn(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return 0
}

// unit is the number of a \u escape that raw begins with, -1 if it does not.
func unit(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range raw[2:6] {
		switch {
		case c <= '9':
			c -= '0'
		case c <= 'F':
			c -= 'A' - 10
		default:
			c -= 'a' - 10
		}
		r = r<<4 | rune(c)
	}
	return r
}
