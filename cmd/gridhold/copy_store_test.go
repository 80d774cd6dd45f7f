package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A store takes the place of a store, or of an empty directory, and of nothing
// that somebody else put there.
func TestCopyLeavesOthersAlone(t *testing.T) {
	src, dir := filepath.Join(containers, "store", "tree.b2d"), t.TempDir()
	store := filepath.Join(dir, "a.b2d")
	require.NoError(t, os.Mkdir(store, 0o777))
	copied(t, src, store)
	frame := filepath.Join(dir, "frame.b2d")
	require.NoError(t, os.CopyFS(frame, os.DirFS(filepath.Join(containers, "schunk", "sparse"))))
	for _, file := range []string{"notes.txt", filepath.Join("a", "notes.txt")} {
		require.NoError(t, os.WriteFile(filepath.Join(store, file), []byte("mine"), 0o666))
		for _, there := range []string{store, frame} {
			for _, flags := range [][]string{nil, {"--overwrite"}} {
				status, _, errs := here(t, append(append([]string{"copy"}, flags...), src, there)...)
				require.Equal(t, 1, status, errs)
			}
		}
		require.FileExists(t, filepath.Join(store, file))
		require.FileExists(t, filepath.Join(frame, "chunks.b2frame"))
		require.NoError(t, os.Remove(filepath.Join(store, file)))
	}
	copied(t, "--overwrite", filepath.Join(containers, "store", "dict-ext.b2z"), store)
	require.FileExists(t, filepath.Join(store, "node1.b2nd"))
	require.NoFileExists(t, filepath.Join(store, "top.b2nd"))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "%v", entries)
}

// What a link leads to is replaced, and the link stays.
func TestCopyToLinkedStore(t *testing.T) {
	src, dir := filepath.Join(containers, "store", "tree.b2d"), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "disk"), 0o777))
	for _, ext := range []string{".b2d", ".b2z"} {
		store, link := filepath.Join(dir, "disk", "store"), filepath.Join(dir, "link"+ext)
		copied(t, filepath.Join(containers, "store", "dict-ext.b2d"), store+ext)
		require.NoError(t, os.Rename(store+ext, store))
		if err := os.Symlink(store, link); err != nil {
			t.Skip(err) // not everybody may, on Windows
		}
		copied(t, "--overwrite", src, link)
		_, err := os.Readlink(link)
		require.NoError(t, err)
		status, _, errs := here(t, "info", "--key", "/a/b/c", store)
		require.Zero(t, status, errs)
		require.NoError(t, os.RemoveAll(store))
		require.NoError(t, os.Remove(link))
	}
	entries, err := os.ReadDir(filepath.Join(dir, "disk"))
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestContainerBehindLink(t *testing.T) {
	src, err := filepath.Abs(filepath.Join(containers, "ndim", "3d.b2nd"))
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "link.b2nd")
	if err := os.Symlink(src, link); err != nil {
		t.Skip(err)
	}
	same(t, []string{src}, []string{link})
	for _, engine := range []string{"native", "wasm"} {
		status, _, errs := here(t, "verify", "--engine", engine, link)
		require.Zero(t, status, errs)
	}
}
