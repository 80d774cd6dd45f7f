//go:build unix

package host_test

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// TestGrantedURLsBySpelling holds URLs in every spelling to what is granted.
func TestGrantedURLsBySpelling(t *testing.T) {
	g := &host.Grants{URLs: []string{"https://data.example/open", "http://[::1]:8080", "https://b\u00fccher.example/a b/"}}
	for text, allowed := range map[string]bool{
		"https://data.example/open":                  true,
		"https://data.example/open/":                 true,
		"https://DATA.example:443/open/a":            true,
		"https://data.example:/open/a":               true,
		"HTTPS://data.example/open/a":                true,
		"https://data.example/open//a":               true,
		"https://data.example/open/a%20b;v=1":        true,
		"https://data.example/open/50%25":            true,
		"http://[::1]:8080/x":                        true,
		"http://[::1]:8080":                          true,
		"https://b\u00fccher.example/a%20b/c":        true,
		"https://data.example":                       false,
		"https://data.example/OPEN/a":                false,
		"https://data.example/opened":                false,
		"https://data.example./open/a":               false,
		"https://data.example:444/open/a":            false,
		"https://data.example:0443/open/a":           false,
		"http://data.example/open/a":                 false,
		"http://data.example:443/open/a":             false,
		"ftp://data.example/open/a":                  false,
		"//data.example/open/a":                      false,
		"https:data.example/open/a":                  false,
		"https://a@data.example/open/a":              false,
		"https://@data.example/open/a":               false,
		"https://data.example@evil.example/":         false,
		"https://data.example.evil/open/a":           false,
		"https://evil/data.example/open/a":           false,
		"https://data.example/open/./a":              false,
		"https://data.example/open/../a":             false,
		"https://data.example/open/..":               false,
		"https://data.example/open/%2e./a":           false,
		"https://data.example/open/%2E%2E/a":         false,
		"https://data.example/open/..;/a":            false,
		"https://data.example/open/..;x=1/a":         false,
		"https://data.example/open/%2e%2e%3b/":       false,
		"https://data.example/open/..%2fa":           false,
		"https://data.example/open/..%5Ca":           false,
		"https://data.example/open/%252e%252e":       false,
		"https://data.example/open/a%252fb":          false,
		"https://data.example/open/%25252e%25252e/a": false,
		"https://data.example/open/%c0%ae%c0%ae/a":   false,
		"https://data.example/open/a%00b":            false,
		"https://data.example/open/a%0d%0ab":         false,
		"http://[::1]/x":                             false,
		"http://[::1%25eth0]:8080/x":                 false,
		"http://[0:0:0:0:0:0:0:1]:8080/x":            false,
		"http://::1:8080/x":                          false,
	} {
		u, err := url.Parse(text)
		if err == nil {
			err = g.AllowURL(u)
		}
		require.Equal(t, allowed, err == nil, "%s: %v", text, err)
	}
	for _, text := range []string{"", "data.example", "https://", "https:///x", "file:///etc", "https://u:secret@h/", "https://h/?q", "https://h/?q=1", "https://h/a/../b", "https://h/%2e%2e"} {
		_, err := host.New(t.Context(), host.Config{Grants: &host.Grants{URLs: []string{text}}, CompileCache: compiled})
		require.ErrorIs(t, err, fault.ErrInvalid, text)
		require.NotContains(t, err.Error(), "secret")
	}
	u, err := url.Parse("https://data.example/")
	require.NoError(t, err)
	require.ErrorIs(t, (&host.Grants{}).AllowURL(u), fault.ErrNotAllowed)
	require.ErrorIs(t, (&host.Grants{URLs: []string{"", "/", "https://"}}).AllowURL(u), fault.ErrNotAllowed)
}

// TestGrantsKeepTheirPlace has the working directory change after the sandbox
// was made: what is granted stays where it was.
func TestGrantsKeepTheirPlace(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "one/data"))
	put(t, filepath.Join(dir, "two/data"))
	t.Chdir(filepath.Join(dir, "one"))
	s := newSandbox(t, host.Config{Grants: &host.Grants{Read: []string{"data"}}})
	t.Chdir(filepath.Join(dir, "two"))
	_, err := s.At("data")
	require.ErrorIs(t, err, fault.ErrNotAllowed)
	at, err := s.At("../one/data")
	require.NoError(t, err)
	a, err := at.OpenArray(t.Context(), host.OpenOptions{})
	require.NoError(t, err)
	read(t, a, nil, 3, 3)
	_, err = s.At("")
	require.ErrorIs(t, err, fault.ErrInvalid)
	for _, g := range []host.Grants{{Read: []string{""}}, {Write: []string{dir, ""}}} {
		_, err := host.New(t.Context(), host.Config{Grants: &g, CompileCache: compiled})
		require.ErrorIs(t, err, fault.ErrInvalid, "an empty name is not the working directory")
	}
}

// TestGrantedRoots: a granted directory that is a link is what that leads to; one
// that comes late is found; one that is made anew under its name is not the one
// that was opened.
func TestGrantedRoots(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "real"))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "link")))
	s := newSandbox(t, host.Config{Grants: &host.Grants{Read: []string{filepath.Join(dir, "link"), filepath.Join(dir, "late")}}})
	open := func(name string) error {
		at, err := s.At(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		a, err := at.OpenArray(t.Context(), host.OpenOptions{})
		if err == nil {
			read(t, a, nil, 2, 2)
			err = a.Close()
		}
		return err
	}
	require.NoError(t, open("link"))
	require.ErrorIs(t, open("real"), fault.ErrNotAllowed, "by that name it is not granted")
	require.ErrorIs(t, open("late"), fault.ErrNotFound)
	put(t, filepath.Join(dir, "late"))
	require.NoError(t, open("late"))
	put(t, filepath.Join(dir, "secret"))
	require.NoError(t, os.Remove(filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("secret", filepath.Join(dir, "link")))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "real")))
	require.ErrorIs(t, open("link"), fault.ErrNotFound, "what was granted is gone")
}

// TestReadOnlyIsNotLocked takes a lock on a byte of a file of a directory that
// is only read.
func TestReadOnlyIsNotLocked(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("text"), 0o644))
	s := newSandbox(t, host.Config{Grants: &host.Grants{Read: []string{dir}}})
	at, err := s.At(filepath.Join(dir, "f"))
	require.NoError(t, err)
	fs, name := at.FS()
	f, err := fs.Open(t.Context(), name, storage.OpenRead)
	require.NoError(t, err)
	defer f.Close()
	for _, m := range []storage.LockMode{storage.LockShared, storage.LockExclusive} {
		_, err = f.LockRange(0, m)
		require.Error(t, err)
	}
	b := make([]byte, 4)
	_, err = f.ReadAt(b, 0)
	require.NoError(t, err)
	require.Equal(t, "text", string(b))
	counter(t, s, dir)
	at, err = s.At(filepath.Join(dir, "c.b2frame"))
	require.NoError(t, err)
	c, err := at.OpenContainer(t.Context(), host.ContainerOptions{Locking: blosc2.LockedIfPossible})
	if err == nil {
		require.NoError(t, c.Close())
	}

	require.NoError(t, s.Close())
	_, err = s.At(filepath.Join(dir, "f"))
	require.ErrorIs(t, err, fault.ErrClosed, "nothing is opened again")
}
