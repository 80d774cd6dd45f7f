package storage

import (
	"strconv"
	"strings"
)

// answer is bytes of an object as a server gave them.
type answer struct {
	body  []byte
	at    int64 // offset of body in the object
	whole bool  // body is all of it
	validator
}

// end is where the object ends, if it is known, or where the body does.
func (a answer) end() int64 {
	if a.size >= 0 {
		return a.size
	}
	return a.at + int64(len(a.body))
}

// validator is what an answer tells of the object's state.
type validator struct {
	etag     string // strong, with its quotes; "" if there is none
	modified string // Last-Modified, as it was sent
	size     int64  // of the whole object; -1 unknown
}

// validatorOf reads the fields of a response; size is known otherwise, or -1.
func validatorOf(r Response, size int64) validator {
	v := validator{modified: r.Get("Last-Modified"), size: size}
	if tag := r.Get("ETag"); strongTag(tag) {
		v.etag = tag
	}
	return v
}

// strongTag reports whether a field is a strong ETag (RFC 9110, section 8.8.3),
// blanks in it allowed. It may be sent back as it is: it cannot end a line.
func strongTag(s string) bool {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return false
	}
	for i := 1; i < len(s)-1; i++ {
		if c := s[i]; c < ' ' || c == '"' || c == 0x7f {
			return false
		}
	}
	return true
}

// version names the state: the strong ETag, else the time with the size.
func (v validator) version() Version {
	switch {
	case v.etag != "":
		return Version(v.etag)
	case v.modified != "":
		return Version(v.modified + ";" + strconv.FormatInt(v.size, 10))
	}
	return ""
}

// wanted is the validator that a version was made of; ok is false for a
// version that is not of this store.
func wanted(v Version) (w validator, ok bool) {
	if strongTag(string(v)) {
		return validator{etag: string(v), size: -1}, true
	}
	modified, size, ok := strings.Cut(string(v), ";")
	n, err := strconv.ParseInt(size, 10, 64)
	return validator{modified: modified, size: n}, ok && err == nil
}

// check returns ErrStale for an answer of another version than the wanted.
func (a answer) check(key string, want Version) error {
	if want == "" {
		return nil
	}
	if w, ok := wanted(want); !ok || a.contradicts(w) {
		return Stale(key)
	}
	return nil
}

// contradicts reports whether two answers are certainly of different states.
// What one of them does not tell contradicts nothing.
func (v validator) contradicts(w validator) bool {
	return v.etag != "" && w.etag != "" && v.etag != w.etag ||
		v.modified != "" && w.modified != "" && v.modified != w.modified && (v.etag == "" || w.etag == "") ||
		v.size >= 0 && w.size >= 0 && v.size != w.size
}

// and joins what two answers tell.
func (v validator) and(w validator) validator {
	if v.etag == "" {
		v.etag = w.etag
	}
	if v.modified == "" {
		v.modified = w.modified
	}
	if v.size < 0 {
		v.size = w.size
	}
	return v
}

// contentRange is a Content-Range field: "bytes 3-9/100", "bytes 3-9/*",
// "bytes */100" (of a 416).
type contentRange struct {
	off, n int64 // n < 0: unsatisfied
	size   int64 // -1: not told
}

// parseContentRange reads the field (RFC 9110, section 14.4); ok is false for
// anything that is not one.
func parseContentRange(s string) (c contentRange, ok bool) {
	unit, s, _ := strings.Cut(strings.TrimSpace(s), " ")
	if !equalFold(unit, "bytes") {
		return c, false
	}
	span, total, ok := strings.Cut(strings.TrimSpace(s), "/")
	if !ok {
		return c, false
	}
	c.size = -1
	if total != "*" {
		if c.size, ok = parseDecimal(total); !ok {
			return c, false
		}
	}
	switch {
	case span == "*":
		c.n = -1
		return c, c.size >= 0
	case span == "0--1" && c.size == 0:
		return c, true // how net/http answers a suffix of an empty object
	}
	from, to, ok := strings.Cut(span, "-")
	if !ok {
		return c, false
	}
	first, ok1 := parseDecimal(from)
	last, ok2 := parseDecimal(to)
	if !ok1 || !ok2 || last < first || last+1 <= 0 || c.size >= 0 && last >= c.size {
		return c, false
	}
	c.off, c.n = first, last+1-first
	return c, true
}

// parseDecimal takes digits only: no sign, no space.
func parseDecimal(s string) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err == nil && s[0] != '+'
}
