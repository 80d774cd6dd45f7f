//go:build unix

package host_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/native/web"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
)

func put(t *testing.T, dir string) {
	small.each(t, func(key string, b []byte) {
		name := filepath.Join(dir, filepath.FromSlash(key))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, b, 0o644))
	})
}

// TestReport31 has places lead out of what is granted in every way: each is
// refused, whether or not there is anything, and what is granted stays so.
func TestReport31(t *testing.T) {
	outer := t.TempDir()
	root := filepath.Join(outer, "root")
	put(t, filepath.Join(root, "a"))
	put(t, filepath.Join(outer, "secret"))
	frame, err := os.ReadFile("../testdata/blosc2/schunk/" + firstFrame(t))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(outer, "secret.b2frame"), frame, 0o644))
	link := func(target, name string) { require.NoError(t, os.Symlink(target, filepath.Join(root, name))) }
	link("../secret", "out")
	link("../absent", "absent")
	link(filepath.Join(outer, "secret"), "absolute")
	link("..", "parent")
	link("a/../../secret", "dots")
	link("parent", "chain")
	link("../secret.b2frame", "frame")
	link("a", "inside")

	s := newSandbox(t, host.Config{Grants: &host.Grants{Read: []string{root}}})
	for _, name := range []string{"../secret", "a/../../secret", "/etc", "../root2", "..", "/"} {
		if !filepath.IsAbs(name) {
			name = root + "/" + name
		}
		_, err := s.At(name)
		require.ErrorIs(t, err, fault.ErrNotAllowed, name)
	}
	texts := map[string]string{}
	for _, name := range []string{"out", "absent", "absolute", "dots", "parent/secret", "parent/absent", "chain/secret"} {
		at, err := s.At(filepath.Join(root, name))
		require.NoError(t, err)
		_, err = at.Open(t.Context(), host.OpenOptions{})
		require.ErrorIs(t, err, fault.ErrNotAllowed, name)
		require.NotContains(t, err.Error(), outer)
		texts[name] = err.Error()
	}
	require.Len(t, texts["out"], len(texts["absent"])-len("absent")+len("out"), "what is there and what is not cannot be told apart")
	at, err := s.At(filepath.Join(root, "frame"))
	require.NoError(t, err)
	_, err = at.OpenContainer(t.Context(), host.ContainerOptions{})
	require.ErrorIs(t, err, fault.ErrNotAllowed)
	_, err = at.OpenStack(t.Context(), image.FilesOptions{})
	require.ErrorIs(t, err, fault.ErrNotAllowed)

	for _, name := range []string{"a", "inside"} {
		at, err := s.At(filepath.Join(root, name))
		require.NoError(t, err)
		a, err := at.OpenArray(t.Context(), host.OpenOptions{})
		require.NoError(t, err)
		read(t, a, nil, 3, 3)
		require.NoError(t, a.Close())
	}

	// A directory becomes a link between the look at its name and the open.
	put(t, filepath.Join(root, "swapped"))
	at, err = s.At(filepath.Join(root, "swapped"))
	require.NoError(t, err)
	require.NoError(t, os.Rename(filepath.Join(root, "swapped"), filepath.Join(root, "b")))
	link("../secret", "swapped")
	_, err = at.OpenArray(t.Context(), host.OpenOptions{})
	require.ErrorIs(t, err, fault.ErrNotAllowed)
	at, err = s.At(root)
	require.NoError(t, err)
	_, err = at.Join("../secret")
	require.ErrorIs(t, err, fault.ErrInvalid)
	at, err = at.Join("b")
	require.NoError(t, err)
	_, err = at.OpenArray(t.Context(), host.OpenOptions{})
	require.NoError(t, err)
}

func firstFrame(t *testing.T) string {
	found, err := filepath.Glob("../testdata/blosc2/schunk/*.b2frame")
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return filepath.Base(found[0])
}

// TestGrantsToWrite writes where that is granted, and nowhere else.
func TestGrantsToWrite(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"read", "read/but"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	s := newSandbox(t, host.Config{Grants: &host.Grants{Read: []string{filepath.Join(dir, "read")}, Write: []string{filepath.Join(dir, "read/but")}}})
	counter(t, s, filepath.Join(dir, "read"))
	counter(t, s, filepath.Join(dir, "read/but"))

	at, err := s.At(filepath.Join(dir, "read", "c.b2frame"))
	require.NoError(t, err)
	for _, o := range []host.ContainerOptions{{Write: true}, {Locking: blosc2.Locked}} {
		c, err := at.OpenContainer(t.Context(), o)
		if err == nil {
			err = c.Append(t.Context(), make([]byte, 8))
		}
		require.ErrorIs(t, err, fault.ErrNotAllowed)
	}
	c, err := at.OpenContainer(t.Context(), host.ContainerOptions{})
	require.NoError(t, err)
	require.NoError(t, c.Close())

	at, err = s.At(filepath.Join(dir, "read/but/c.b2frame"))
	require.NoError(t, err)
	c, err = at.OpenContainer(t.Context(), locking)
	require.NoError(t, err)
	require.NoError(t, increment(t.Context(), c))
	require.NoError(t, c.Close())
}

// TestGrantedURLs reads below a URL that is granted; redirects lead nowhere
// else.
func TestGrantedURLs(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "open/a"))
	put(t, filepath.Join(dir, "shut/a"))
	files := http.FileServer(http.Dir(dir))
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if len(r.URL.Path) > 8 && r.URL.Path[:8] == "/open/to" {
			http.Redirect(w, r, "/shut/a"+r.URL.Path[8:], http.StatusFound)
			return
		}
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	g := &host.Grants{URLs: []string{server.URL + "/open"}}
	fetcher := web.New(web.Options{Allow: g.AllowURL})
	defer fetcher.Close()
	s := newSandbox(t, host.Config{Grants: g, Fetcher: fetcher})

	at, err := s.At(server.URL + "/open/a")
	require.NoError(t, err)
	a, err := at.OpenArray(t.Context(), host.OpenOptions{})
	require.NoError(t, err)
	read(t, a, nil, 3, 3)

	before := asked
	for _, name := range []string{"/shut/a", "/opened", "/open/../shut/a", "/open/%2e%2e/shut/a", "/open/..%2fshut/a", "/open%2f..%2fshut", ""} {
		_, err := s.At(server.URL + name)
		require.ErrorIs(t, err, fault.ErrNotAllowed, name)
	}
	_, err = s.At("http://user@" + server.URL[len("http://"):] + "/open/a")
	require.ErrorIs(t, err, fault.ErrNotAllowed)
	_, err = s.At(server.URL + "/open/a?x")
	require.ErrorIs(t, err, fault.ErrInvalid)
	_, err = s.OpenArray(t.Context(), s.HTTP(server.URL+"/shut/a", host.HTTPOptions{}), "", host.OpenOptions{})
	require.ErrorIs(t, err, fault.ErrNotAllowed, "nor does another way lead there")
	require.Equal(t, before, asked)

	at, err = s.At(server.URL + "/open/to")
	require.NoError(t, err)
	_, err = at.OpenArray(t.Context(), host.OpenOptions{})
	require.ErrorIs(t, err, fault.ErrNotAllowed)
}

func TestNothingIsGranted(t *testing.T) {
	s := newSandbox(t, host.Config{})
	for _, name := range []string{"/", ".", "http://localhost/"} {
		_, err := s.At(name)
		require.ErrorIs(t, err, fault.ErrNotAllowed)
	}
}
