package rawjson

import (
	"encoding/json"
	"strconv"
)

// Members is an object whose members are asked for by name and kind. What is
// absent or null is the value that the caller names; the first that is of
// another kind is kept for Err, so that one check at the end is enough. The
// zero value is an object without members.
type Members struct {
	values map[string]json.RawMessage
	err    error
}

// MembersOf reads an object; nil and null are one without members.
func MembersOf(raw []byte) *Members {
	m := &Members{}
	if raw != nil && string(raw) != "null" {
		m.values, m.err = Object(raw)
	}
	return m
}

// Err returns the first error.
func (m *Members) Err() error { return m.err }

func (m *Members) fail(name string, err error) {
	if m.err == nil {
		m.err = &Error{-1, name + ": " + err.Error()}
	}
}

// Raw returns a member as it is; nil if it is absent or null.
func (m *Members) Raw(name string) json.RawMessage {
	if v := m.values[name]; string(v) != "null" {
		return v
	}
	return nil
}

// String returns a string.
func (m *Members) String(name, other string) string {
	raw := m.Raw(name)
	if raw == nil {
		return other
	}
	s, err := String(raw)
	if err != nil {
		m.fail(name, err)
	}
	return s
}

// Int returns an integer from min to max.
func (m *Members) Int(name string, min, max, other int64) int64 {
	raw := m.Raw(name)
	if raw == nil {
		return other
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < min || n > max {
		m.fail(name, &Error{-1, "want an integer from " + strconv.FormatInt(min, 10) + " to " + strconv.FormatInt(max, 10)})
	}
	return n
}

// Number returns the text of a number, or of a string that spells one; ""
// if there is none.
func (m *Members) Number(name string) string {
	raw := m.Raw(name)
	if len(raw) > 0 && raw[0] == '"' {
		raw = json.RawMessage(m.String(name, ""))
	}
	if raw != nil && !IsNumber(raw) {
		m.fail(name, &Error{-1, "want a number"})
	}
	return string(raw)
}

// Bool returns a boolean; false if there is none.
func (m *Members) Bool(name string) bool {
	switch raw := m.Raw(name); string(raw) {
	case "true":
		return true
	case "false", "":
	default:
		m.fail(name, &Error{-1, "want a boolean"})
	}
	return false
}

// List returns a list; nil if there is none.
func (m *Members) List(name string) []json.RawMessage {
	raw := m.Raw(name)
	if raw == nil {
		return nil
	}
	l, err := List(raw)
	if err != nil {
		m.fail(name, err)
	}
	return l
}

// Object returns an object. Its errors are its own.
func (m *Members) Object(name string) *Members { return MembersOf(m.Raw(name)) }
