//go:build unix

package file

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

func readAll(s storage.Store, key string) (string, error) {
	bs, _, err := s.ReadRanges(context.Background(), key, []storage.Range{storage.All}, "")
	if err != nil {
		return "", err
	}
	return string(bs[0]), nil
}

// TestLinks: links that stay within the root are followed, all others are
// refused alike, whether or not there is something where they lead.
func TestLinks(t *testing.T) {
	outer := t.TempDir()
	root := filepath.Join(outer, "root")
	write(t, filepath.Join(root, "dir/inside"), []byte("inside"))
	write(t, filepath.Join(outer, "secret"), []byte("secret"))
	link := func(target, name string) { require.NoError(t, os.Symlink(target, filepath.Join(root, name))) }
	link("dir/inside", "file")
	link("dir", "folder")
	link("../dir/inside", "dir/up")
	link("loop", "loop")
	link("nowhere", "dangling")
	link("../secret", "out")
	link("../absent", "out-absent")
	link(filepath.Join(outer, "secret"), "absolute")
	link(filepath.Join(root, "dir/inside"), "absolute-inside")
	link("..", "parent")
	link("dir/../../secret", "dots")
	link("parent", "chain")
	s := open(t, root, Options{})

	for _, key := range []string{"file", "folder/inside", "dir/up", "folder/up"} {
		got, err := readAll(s, key)
		require.NoError(t, err, key)
		require.Equal(t, "inside", got)
	}
	for _, key := range []string{"out", "out-absent", "absolute", "absolute-inside", "parent/secret", "parent/absent", "dots", "chain/secret", "parent"} {
		_, err := readAll(s, key)
		require.ErrorIs(t, err, fault.ErrNotAllowed, key)
		require.NotErrorIs(t, err, fault.ErrNotFound, key)
		require.NotContains(t, err.Error(), outer)
	}
	_, err := readAll(s, "dangling")
	require.ErrorIs(t, err, fault.ErrNotFound)
	_, err = readAll(s, "loop")
	require.ErrorIs(t, err, fault.ErrIO)
	names, err := s.List(context.Background(), "")
	require.NoError(t, err)
	require.Equal(t, []string{"dir/", "file", "folder/"}, names)
	_, err = s.List(context.Background(), "parent/")
	require.ErrorIs(t, err, fault.ErrNotAllowed)
}

// A directory is swapped for a link to the outside again and again while it
// is read through: nothing outside is ever read.
func TestSwappedDirectory(t *testing.T) {
	outer := t.TempDir()
	root := filepath.Join(outer, "root")
	write(t, filepath.Join(root, "real/f"), []byte("inside"))
	write(t, filepath.Join(outer, "outside/f"), []byte("secret"))
	require.NoError(t, os.Symlink("real", filepath.Join(root, "good")))
	require.NoError(t, os.Symlink("../outside", filepath.Join(root, "bad")))
	at := func(name string) string { return filepath.Join(root, name) }
	require.NoError(t, os.Symlink("real", at("d")))

	s := open(t, root, Options{Recheck: 1})
	end := make(chan bool)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			default:
			}
			from := []string{"real", "../outside"}[i%2]
			if os.Symlink(from, at("next")) == nil {
				os.Rename(at("next"), at("d"))
			}
		}
	})
	refused, read := 0, 0
	for i := 0; i < 3000 || refused == 0 || read == 0; i++ {
		got, err := readAll(s, "d/f")
		if err != nil {
			require.ErrorIs(t, err, fault.ErrNotAllowed)
			refused++
			continue
		}
		require.Equal(t, "inside", got)
		read++
	}
	close(end)
	wg.Wait()
}

func TestNotRegular(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "dir"), 0o777))
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "pipe"), 0o666))
	write(t, filepath.Join(root, "f"), nil)
	s := open(t, root, Options{})
	_, err := readAll(s, "dir")
	require.ErrorIs(t, err, fault.ErrIO)
	require.ErrorContains(t, err, "is a directory")
	_, err = readAll(s, "pipe") // and does not wait for a writer
	require.ErrorIs(t, err, fault.ErrIO)
	_, err = readAll(s, "f/g")
	require.ErrorIs(t, err, fault.ErrNotFound)
	names, err := s.List(context.Background(), "")
	require.NoError(t, err)
	require.Equal(t, []string{"dir/", "f"}, names)
	for _, name := range []string{"pipe", "f"} {
		_, err = Open(filepath.Join(root, name), Options{})
		require.Error(t, err, name)
		_, err = OpenFS(filepath.Join(root, name))
		require.Error(t, err, name)
	}
}
