package host

import (
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Grants say what a sandbox may reach by name, through [Sandbox.At], and what
// its guest may fetch: nothing that is not in them. The code that holds the
// sandbox may hand it stores and file systems of its own all the same.
type Grants struct {
	Read  []string // directories: what is below them may be read. A name that is not absolute means what it does when the sandbox is made
	Write []string // directories: what is below them may be read, written and locked
	URLs  []string // http(s): what lies below one of these may be read
}

// AllowURL says whether a URL may be read: scheme, host and port are those of a
// granted one, whose path it lies at or below. ErrNotAllowed. Give it to
// [github.com/gridhold/gridhold/native/web.Options] as Allow, so that redirects
// lead nowhere else either.
func (g *Grants) AllowURL(u *url.URL) error {
	if _, _, ok := g.granted(u); !ok {
		return fault.New(fault.ErrNotAllowed, "sandbox", u.Scheme+"://"+u.Host+u.EscapedPath(), "no URL that is granted")
	}
	return nil
}

// granted finds the grant that a URL lies below, and where below.
func (g *Grants) granted(u *url.URL) (base, rest string, ok bool) {
	p := u.EscapedPath()
	if u.Opaque != "" || u.User != nil || !plain(p) {
		return "", "", false
	}
	for _, text := range g.URLs {
		b, err := url.Parse(text)
		if err != nil || b.Host == "" || b.Scheme != u.Scheme || origin(b) != origin(u) {
			continue
		}
		at := strings.TrimSuffix(b.EscapedPath(), "/")
		if rest, ok := strings.CutPrefix(p, at); ok && (rest == "" || rest[0] == '/') {
			b.RawQuery, b.Fragment = "", ""
			return strings.TrimSuffix(b.String(), "/"), strings.TrimPrefix(rest, "/"), true
		}
	}
	return "", "", false
}

// plain says whether no server reads a path as one that lies elsewhere, however
// often those behind each other decode it.
func plain(escaped string) bool {
	for part := range strings.SplitSeq(escaped, "/") {
		for more := true; more; {
			name, _, _ := strings.Cut(part, ";") // what follows is a parameter to some
			if name == "." || name == ".." || strings.ContainsAny(part, `/\`) || !utf8.ValidString(part) || strings.ContainsFunc(part, unicode.IsControl) {
				return false
			}
			decoded, err := url.PathUnescape(part)
			more = err == nil && decoded != part
			part = decoded
		}
	}
	return true
}

// origin is a host with its port.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

// check gives ErrInvalid for URLs that cannot be granted.
func (g *Grants) check() error {
	for _, text := range g.URLs {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !plain(u.EscapedPath()) {
			return fault.New(fault.ErrInvalid, "sandbox", "Grants.URLs", "want http or https URLs, without a user or a query")
		}
	}
	return nil
}

// directory is one that is granted.
type directory struct {
	path  string // absolute
	write bool
}

// directories are those that are granted, by what their names mean now: a
// program may change its working directory later.
func (g *Grants) directories() (all []directory, err error) {
	for i, names := range [][]string{g.Write, g.Read} {
		for _, name := range names {
			if name == "" { // to filepath.Abs it is the working directory
				return nil, fault.New(fault.ErrInvalid, "sandbox", "Grants", "a directory without a name")
			}
			abs, err := filepath.Abs(name)
			if err != nil {
				return nil, fault.New(fault.ErrInvalid, "sandbox", "Grants", err.Error())
			}
			all = append(all, directory{abs, i == 0})
		}
	}
	return all, nil
}

// below finds the innermost granted directory that a path lies in by its name,
// and where in it, with slashes. What links make of that is seen when it is
// opened, below the directory and nowhere else.
func below(dirs []directory, name string) (in directory, rest string, ok bool) {
	for _, d := range dirs {
		r, err := filepath.Rel(d.path, name)
		if err == nil && filepath.IsLocal(r) && len(d.path) > len(in.path) {
			in, rest, ok = d, filepath.ToSlash(r), true
		}
	}
	if rest == "." {
		rest = ""
	}
	return in, rest, ok
}
