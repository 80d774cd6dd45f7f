package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
)

// The exit statuses.
const (
	statusFine = iota
	statusFailed
	statusUsage
	statusDamaged
)

// failure is an error of a command that was understood. Whatever else
// reaches report is wrong usage, found by cobra.
type failure struct {
	path   string // what the user named, a URL or a file
	status int
	err    error
}

func (f *failure) Error() string { return f.path + ": " + f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usagef makes the error of arguments that cannot be meant.
func usagef(format string, args ...any) error {
	return &failure{status: statusUsage, err: fmt.Errorf(format, args...)}
}

// failed says that err befell path; nil stays nil, and an error that knows
// its path and status already stays as it is.
func failed(path string, err error) error {
	var f *failure
	if err == nil || errors.As(err, &f) {
		return err
	}
	return &failure{path: path, status: statusFailed, err: err}
}

// report prints err as one line and returns the exit status.
func report(stderr io.Writer, err error) int {
	if err == nil {
		return statusFine
	}
	status, where := statusUsage, ""
	var f *failure
	if errors.As(err, &f) {
		status, err = f.status, f.err
		if f.path != "" {
			where = withoutSecrets(f.path) + ": "
		}
	}
	fmt.Fprintf(stderr, "gridhold: %s%s\n", oneLine(where), oneLine(text(err)))
	return status
}

// withoutSecrets takes from a URL what lets its holder in: a user and a
// password, and the query, which may be a signature.
func withoutSecrets(name string) string {
	scheme, rest, ok := strings.Cut(name, "://")
	if !ok {
		return name
	}
	if scheme == "zip" {
		return scheme + "://" + withoutSecrets(rest)
	}
	if scheme == "s3" || scheme == "file" {
		return name // nothing in them is secret, and a key may hold any letter
	}
	rest, _, _ = strings.Cut(rest, "?")
	end := strings.IndexByte(rest+"/", '/')
	return scheme + "://" + rest[strings.LastIndexByte(rest[:end], '@')+1:]
}

// text says what went wrong, without the name that stands in front of it.
func text(err error) string {
	var p *fs.PathError
	switch {
	case errors.Is(err, context.Canceled) && fault.CodeOf(err) == fault.CodeCancelled:
		return "interrupted"
	case errors.As(err, &p) && fault.CodeOf(err) == fault.CodeIO:
		return p.Op + ": " + p.Err.Error()
	}
	return err.Error()
}

// oneLine keeps names and texts that hold line breaks, or worse, from
// breaking the line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
