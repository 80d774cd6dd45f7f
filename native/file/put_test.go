package file_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

func openStore(t *testing.T, dir string) *file.Store {
	t.Helper()
	s, err := file.Open(dir, file.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func TestPutConditions(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	_, err := s.Put(t.Context(), "a/b/c", []byte("one"), storage.Condition{Absent: true})
	require.NoError(t, err)
	_, err = s.Put(t.Context(), "a/b/c", []byte("two"), storage.Condition{Absent: true})
	require.ErrorIs(t, err, fault.ErrExists)
	_, info, err := storage.ReadAll(t.Context(), s, "a/b/c", 100)
	require.NoError(t, err)
	v, err := s.Put(t.Context(), "a/b/c", []byte("three"), storage.Condition{Version: info.Version})
	require.NoError(t, err)
	_, err = s.Put(t.Context(), "a/b/c", []byte("four"), storage.Condition{Version: info.Version})
	require.ErrorIs(t, err, fault.ErrStale)
	b, _, err := storage.ReadAll(t.Context(), s, "a/b/c", 100)
	require.NoError(t, err)
	require.Equal(t, "three", string(b))
	require.ErrorIs(t, s.Delete(t.Context(), "a/b/c", storage.Condition{Version: info.Version}), fault.ErrStale)
	require.NoError(t, s.Delete(t.Context(), "a/b/c", storage.Condition{Version: v}))
	require.NoError(t, s.Delete(t.Context(), "a/b/c", storage.Condition{}))
	require.NoError(t, s.Delete(t.Context(), "x/y", storage.Condition{}))
	_, err = s.Put(t.Context(), "a/b/c", []byte("five"), storage.Condition{Version: v})
	require.ErrorIs(t, err, fault.ErrStale)
	_, err = s.Put(t.Context(), "../out", nil, storage.Condition{})
	require.ErrorIs(t, err, fault.ErrInvalid)
	require.NoError(t, s.Close())
	_, err = s.Put(t.Context(), "k", nil, storage.Condition{})
	require.ErrorIs(t, err, fault.ErrClosed)
}

func TestPutDoesNotLeaveTheRoot(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	s := openStore(t, dir)
	_, err := s.Put(t.Context(), "link/k", []byte("x"), storage.Condition{})
	require.ErrorIs(t, err, fault.ErrNotAllowed)
	require.Error(t, s.Delete(t.Context(), "link/k", storage.Condition{}))
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestLeftOversAreNeitherKeysNorKept(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, ".gridhold-tmp-LEFT")
	require.NoError(t, os.WriteFile(left, []byte("half"), 0o600))
	s := openStore(t, dir)
	names, err := s.List(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, names)
	_, err = s.Put(t.Context(), "k", []byte("x"), storage.Condition{})
	require.NoError(t, err)
	require.NoFileExists(t, left)
}

// Writers of one key, in one process through stores of their own: each
// increment under a condition happens once.
func TestConditionalWritersLoseNothing(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	_, err := s.Put(t.Context(), "n", nil, storage.Condition{})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			own, err := file.Open(dir, file.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer own.Close()
			for done := 0; done < 5; {
				b, info, err := storage.ReadAll(t.Context(), own, "n", 1000)
				if err != nil {
					t.Error(err)
					return
				}
				_, err = own.Put(t.Context(), "n", append(b, 'x'), storage.Condition{Version: info.Version})
				switch {
				case err == nil:
					done++
				case !errors.Is(err, fault.ErrStale):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b, _, err := storage.ReadAll(t.Context(), s, "n", 1000)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("x", 20), string(b))
}

// Report 13: a writer that is killed at any moment leaves the old object or
// the new one, whole.
func TestReport13KilledWriters(t *testing.T) {
	if dir := os.Getenv("GRIDHOLD_TEST_WRITER"); dir != "" {
		writeForever(dir)
	}
	dir := t.TempDir()
	s := openStore(t, dir)
	rounds := 50
	if testing.Short() {
		rounds = 5
	}
	for i := range rounds {
		cmd := exec.Command(os.Args[0], "-test.run=^TestReport13KilledWriters$")
		cmd.Env = append(os.Environ(), "GRIDHOLD_TEST_WRITER="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		// It says when each object is in place; kill it after some, in the
		// middle of the next.
		line := make([]byte, 1)
		for range 1 + i%4 {
			_, err := out.Read(line)
			require.NoError(t, err)
		}
		require.NoError(t, cmd.Process.Kill())
		cmd.Wait()
		b, _, err := storage.ReadAll(t.Context(), s, "d/k", 1<<20)
		require.NoError(t, err)
		require.Len(t, b, 1<<16)
		require.Equal(t, bytes.Repeat(b[:1], 1<<16), b)
		names, err := s.List(t.Context(), "d/")
		require.NoError(t, err)
		require.Equal(t, []string{"k"}, names)
	}
	last := openStore(t, dir)
	_, err := last.Put(t.Context(), "d/k", []byte("x"), storage.Condition{})
	require.NoError(t, err)
	entries, err := os.ReadDir(filepath.Join(dir, "d"))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing is left over")
}

func writeForever(dir string) {
	s, err := file.Open(dir, file.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for i := byte(0); ; i++ {
		if _, err := s.Put(context.Background(), "d/k", bytes.Repeat([]byte{i}, 1<<16), storage.Condition{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if _, err := os.Stdout.Write([]byte{'.'}); err != nil {
			os.Exit(0)
		}
	}
}
