package host

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Grants say what a sandbox may reach by name, through [Sandbox.At], and what
// its guest may fetch: nothing that is not in them. The code that holds the
// sandbox may hand it stores and file systems of its own all the same.
type Grants struct {
	Read  []string // directories: what is below them may be read
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

// plain says whether no server reads a path as one that lies elsewhere.
func plain(escaped string) bool {
	low := strings.ToLower(escaped)
	if strings.Contains(low, "%2f") || strings.Contains(low, "%5c") || strings.Contains(low, `\`) {
		return false
	}
	return !slices.ContainsFunc(strings.Split(strings.ReplaceAll(low, "%2e", "."), "/"), func(part string) bool {
		return part == "." || part == ".."
	})
}

// origin is a host with its port.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

// below finds the innermost granted directory that a path lies in by its name,
// and where in it, with slashes. What links make of that is seen when it is
// opened, below the directory and nowhere else.
func (g *Grants) below(name string) (dir, rest string, write, ok bool) {
	for i, dirs := range [][]string{g.Write, g.Read} {
		for _, d := range dirs {
			d, err := filepath.Abs(d)
			if err != nil {
				continue
			}
			r, err := filepath.Rel(d, name)
			if err == nil && filepath.IsLocal(r) && len(d) > len(dir) {
				dir, rest, write, ok = d, filepath.ToSlash(r), i == 0, true
			}
		}
	}
	if rest == "." {
		rest = ""
	}
	return dir, rest, write, ok
}
