package file

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

// A watch tells of writes to the file, of its being replaced, and of nothing
// that befalls others.
func TestWatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := t.TempDir()
	path := filepath.Join(dir, "sub", "f")
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o777))
	w, err := openFS(t, dir).Watch(ctx, "sub/f")
	require.NoError(t, err)
	write(t, path, []byte("1"))
	require.NoError(t, w.Wait(ctx))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	told := make(chan error)
	for _, change := range []func() error{
		func() error { _, err := f.WriteAt([]byte("2"), 0); return err },
		func() error {
			write(t, path+".tmp", []byte("3"))
			return os.Rename(path+".tmp", path)
		},
		func() error { return os.Remove(path) },
	} {
		go func() { told <- w.Wait(ctx) }()
		require.NoError(t, change())
		require.NoError(t, <-told)
	}
	w2, err := openFS(t, dir).Watch(ctx, "sub/g")
	require.NoError(t, err)
	go func() { told <- w2.Wait(ctx) }()
	write(t, path, []byte("4"))
	cancel()
	require.ErrorIs(t, <-told, fault.ErrCancelled)
	require.NoError(t, w2.Close())
	_, err = openFS(t, dir).Watch(t.Context(), "no/f")
	require.ErrorIs(t, err, fault.ErrNotFound)
}
