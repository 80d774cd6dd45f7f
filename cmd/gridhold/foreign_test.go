package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// A copy takes the place of an array or group, and of nothing that others put
// there.
func TestOverwriteLeavesOthersAlone(t *testing.T) {
	src := filepath.Join(fixtures, "nested2_zarrs")
	array := filepath.Join(t.TempDir(), "ours")
	require.NoError(t, os.CopyFS(array, os.DirFS(src)))
	mine := filepath.Join(array, "notes.txt")
	require.NoError(t, os.WriteFile(mine, []byte("mine"), 0o666))
	r := gridhold(t, "copy", "--overwrite", src, array)
	require.Equal(t, 1, r.status)
	require.Contains(t, r.stderr, "notes.txt")
	require.FileExists(t, mine)

	group := filepath.Join(t.TempDir(), "group")
	require.NoError(t, os.CopyFS(group, os.DirFS(filepath.Join(fixtures, "group_consolidated"))))
	require.NoError(t, os.Remove(mine))
	for dir, names := range map[string][]string{
		array: {"c/notes.txt", "c/9/notes", "c/09/0", "c/9/9/zarr.json", "c/9/9/9", "c9/9", "c.9.9", ".hidden", "a\\b", "sub/notes.txt"},
		group: {"2024/0", "notes.txt", "c/0/0"},
	} {
		require.NoError(t, check(t, dir))
		for _, name := range names {
			at := filepath.Join(dir, filepath.FromSlash(name))
			require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o777))
			require.NoError(t, os.WriteFile(at, nil, 0o666))
			require.ErrorIs(t, check(t, dir), fault.ErrExists, name)
			require.NoError(t, os.Remove(at))
			require.NoError(t, check(t, dir), name)
		}
	}
	require.NoError(t, os.Remove(filepath.Join(array, "c", "9", "9")))
	require.NoError(t, os.WriteFile(filepath.Join(array, "c", "9", "9"), nil, 0o666))
	require.NoError(t, check(t, array), "a chunk outside the grid")
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(group, "link")))
	require.ErrorIs(t, check(t, group), fault.ErrExists)
}

func check(t *testing.T, dir string) error {
	st, err := file.Open(dir, file.Options{})
	require.NoError(t, err)
	defer st.Close()
	return nodeFiles{st, listDirectory(dir)}.check(t.Context())
}

// No file of a fixture is taken for that of others, in a directory or in a bucket.
func TestOverwriteKnowsItsOwn(t *testing.T) {
	entries, err := os.ReadDir(fixtures)
	require.NoError(t, err)
	known := 0
	for _, e := range entries {
		dir := filepath.Join(fixtures, e.Name())
		if !isThere(filepath.Join(dir, "zarr.json")) && !isThere(filepath.Join(dir, ".zarray")) && !isThere(filepath.Join(dir, ".zgroup")) {
			continue
		}
		require.NoError(t, check(t, dir), e.Name())
		known++
	}
	require.Greater(t, known, 10)

	objects := storage.NewMemory()
	meta, err := os.ReadFile(filepath.Join(fixtures, "nested2_zarrs", "zarr.json"))
	require.NoError(t, err)
	objects.Set("zarr.json", meta)
	objects.Set("c/0/0", nil)
	bucket := nodeFiles{objects, func(ctx context.Context, prefix string) ([]string, error) { return objects.List(ctx, prefix) }}
	require.NoError(t, bucket.check(t.Context()))
	objects.Set("c/letter", nil)
	require.ErrorIs(t, bucket.check(t.Context()), fault.ErrExists)
}

func isThere(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
