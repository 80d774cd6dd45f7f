// Package fault is the closed set of errors that every part of Gridhold
// speaks, in every language.
//
// Each kind is a sentinel for errors.Is, a code of the guest's ABI
// (docs/abi.md, section "Codes"), an exception class in Python and an
// error.code in JavaScript. An error that crosses a boundary keeps its kind
// and its text; nothing else of it is promised.
package fault

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Code is the number under which a kind of error crosses the ABI.
type Code int32

// The codes of the ABI, version 1. Zero and above are not errors.
const (
	CodeNotFound    Code = -1
	CodeCorrupt     Code = -2
	CodeUnsupported Code = -3
	CodeStale       Code = -4
	CodeWrongArray  Code = -5
	CodeOutOfRange  Code = -6
	CodeLimit       Code = -7
	CodeLockTimeout Code = -8
	CodeLocked      Code = -9
	CodeNoSpace     Code = -10
	CodeReadOnly    Code = -11
	CodeClosed      Code = -12
	CodeInvalid     Code = -13
	CodeCancelled   Code = -14
	CodeIO          Code = -15
	CodeInternal    Code = -16
	CodeTooSmall    Code = -17 // never leaves the guest
	CodeNotAllowed  Code = -18
	CodeExists      Code = -19
)

// kind is one sentinel. std is the error of the standard library that
// stands for the same thing, so that errors.Is finds either.
type kind struct {
	code Code
	name string
	text string
	std  error
}

func (k *kind) Error() string { return k.text }

func (k *kind) Is(target error) bool { return k.std != nil && target == k.std }

// The sentinels. Callers test with errors.Is.
var (
	ErrNotFound    error = &kind{CodeNotFound, "NotFound", "not found", fs.ErrNotExist}
	ErrCorrupt     error = &kind{CodeCorrupt, "Corrupt", "corrupt", nil}
	ErrUnsupported error = &kind{CodeUnsupported, "Unsupported", "unsupported", errors.ErrUnsupported}
	ErrStale       error = &kind{CodeStale, "Stale", "changed between reads that must agree", nil}
	ErrWrongArray  error = &kind{CodeWrongArray, "WrongArray", "belongs to another array", nil}
	ErrOutOfRange  error = &kind{CodeOutOfRange, "OutOfRange", "out of range", nil}
	ErrLimit       error = &kind{CodeLimit, "Limit", "over a limit", nil}
	ErrLockTimeout error = &kind{CodeLockTimeout, "LockTimeout", "lock not obtained in time", context.DeadlineExceeded}
	ErrLocked      error = &kind{CodeLocked, "Locked", "locked by another", nil}
	ErrNoSpace     error = &kind{CodeNoSpace, "NoSpace", "no space left", nil}
	ErrReadOnly    error = &kind{CodeReadOnly, "ReadOnly", "read only", nil}
	ErrClosed      error = &kind{CodeClosed, "Closed", "closed", fs.ErrClosed}
	ErrInvalid     error = &kind{CodeInvalid, "Invalid", "invalid argument", fs.ErrInvalid}
	ErrCancelled   error = &kind{CodeCancelled, "Cancelled", "cancelled", context.Canceled}
	ErrIO          error = &kind{CodeIO, "IO", "input or output failed", nil}
	ErrInternal    error = &kind{CodeInternal, "Internal", "internal fault", nil}
	ErrTooSmall    error = &kind{CodeTooSmall, "TooSmall", "buffer too small", nil}
	ErrNotAllowed  error = &kind{CodeNotAllowed, "NotAllowed", "not allowed", fs.ErrPermission}
	ErrExists      error = &kind{CodeExists, "Exists", "exists already", fs.ErrExist}
)

var kinds = []error{
	ErrNotFound, ErrCorrupt, ErrUnsupported, ErrStale, ErrWrongArray, ErrOutOfRange, ErrLimit, ErrLockTimeout,
	ErrLocked, ErrNoSpace, ErrReadOnly, ErrClosed, ErrInvalid, ErrCancelled, ErrIO, ErrInternal, ErrTooSmall,
	ErrNotAllowed, ErrExists,
}

// Of returns the sentinel of a code: ErrIO for one that is unknown, nil for
// zero and above.
func Of(c Code) error {
	if c >= 0 {
		return nil
	}
	if i := int(-c) - 1; i < len(kinds) {
		return kinds[i]
	}
	return ErrIO
}

// CodeOf returns the code of err: 0 for nil, CodeIO for an error that wraps
// no sentinel of this package and stands with none.
func CodeOf(err error) Code {
	if err == nil {
		return 0
	}
	var k *kind
	if errors.As(err, &k) {
		return k.code
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return CodeCancelled
	}
	for _, s := range kinds {
		if std := s.(*kind).std; std != nil && errors.Is(err, std) {
			return s.(*kind).code
		}
	}
	return CodeIO
}

// Name returns the name of a code as Python and JavaScript spell it
// ("NotFound", "Corrupt"); "IO" for one that is unknown.
func (c Code) Name() string {
	if k, ok := Of(c).(*kind); ok {
		return k.name
	}
	return "OK"
}

// Error says what was read, where, and why it failed. Unwrap gives the
// sentinel or the cause that wraps it.
type Error struct {
	Format string // what kind of thing: "zarr", "shard index", "zstd"
	Item   string // which one: a key, a field of the metadata, a coordinate; may be empty
	Off    int64  // byte offset in the item, or -1
	Why    string // what is wrong, without a full stop
	Err    error  // a sentinel, or the error below this one
}

// Error returns one line: FORMAT: ITEM at OFF: WHY: CAUSE. Names come from
// files that nobody vouches for: what is not printed in them, such as the end
// of a line or an escape sequence of a terminal, is escaped.
func (e *Error) Error() string {
	s := e.Format
	if e.Item != "" {
		s += ": " + e.Item
	}
	if e.Off >= 0 {
		s += " at " + strconv.FormatInt(e.Off, 10)
	}
	if e.Why != "" {
		s += ": " + e.Why
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return printed(s)
}

// printed returns s with what is not printed as Go escapes it: \n, \x9b,
// \u202e.
func printed(s string) string {
	if strings.IndexFunc(s, unprinted) < 0 && utf8.ValidString(s) {
		return s
	}
	var b []byte
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if unprinted(r) || r == utf8.RuneError && n == 1 {
			quoted := strconv.Quote(s[:n])
			b = append(b, quoted[1:len(quoted)-1]...)
		} else {
			b = append(b, s[:n]...)
		}
		s = s[n:]
	}
	return string(b)
}

func unprinted(r rune) bool { return !strconv.IsPrint(r) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New returns an *Error without an offset.
//
//go:noinline // it has hundreds of callers, in paths that need not be fast
func New(kind error, format, item, why string) error {
	return &Error{Format: format, Item: item, Off: -1, Why: why, Err: kind}
}

// At returns an *Error with an offset.
//
//go:noinline // as New
func At(kind error, format, item string, off int64, why string) error {
	return &Error{Format: format, Item: item, Off: off, Why: why, Err: kind}
}
