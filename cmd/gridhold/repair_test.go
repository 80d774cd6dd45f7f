package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
)

// runs runs the command in this process.
func runs(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	var b bytes.Buffer
	root := newRoot()
	root.SetOut(&b)
	root.SetErr(&b)
	root.SetArgs(args)
	status = report(&b, root.ExecuteContext(t.Context()))
	return status, b.String()
}

func TestRepair(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer fs.Close()
	s, err := blosc2.CreateSChunk(ctx, fs, "s.b2frame", blosc2.Spec{ChunkSize: 100}, blosc2.Options{})
	require.NoError(t, err)
	require.NoError(t, s.AppendChunk(ctx, noise(100)))
	name := filepath.Join(dir, "s.b2frame")
	old, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, s.AppendChunk(ctx, noise(100)))
	headerLen := s.Header().HeaderLen
	require.NoError(t, s.Close())
	// An old header over a newer state.
	stale, err := os.ReadFile(name)
	require.NoError(t, err)
	copy(stale, old[:headerLen])
	require.NoError(t, os.WriteFile(name, stale, 0o666))

	status, out := runs(t, "repair", "--dry-run", name)
	require.Zero(t, status, out)
	require.Contains(t, out, "would be repaired: 2 chunks, there were 1")
	now, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, stale, now)
	require.NoFileExists(t, name+keptEnding)

	status, out = runs(t, "repair", "--drop", "--json", name)
	require.Zero(t, status, out)
	var told struct{ Repaired []repaired }
	require.NoError(t, json.Unmarshal([]byte(out), &told))
	require.Len(t, told.Repaired, 1)
	require.Positive(t, told.Repaired[0].Dropped)
	require.Equal(t, name+keptEnding, told.Repaired[0].Kept)
	kept, err := os.ReadFile(name + keptEnding)
	require.NoError(t, err)
	require.Equal(t, stale, kept)
	status, out = runs(t, "verify", name)
	require.Zero(t, status, out)
	require.Contains(t, out, "checked 2, damaged 0")
	status, out = runs(t, "repair", name)
	require.Zero(t, status, out)
	require.Equal(t, "nothing to repair\n", out)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "note.txt"), []byte("not ours"), 0o666))
	for arg, want := range map[string]int{filepath.Join(dir, "note.txt"): statusFailed, filepath.Join(dir, "none"): statusFailed, "https://example.org/a": statusUsage} {
		status, out = runs(t, "repair", arg)
		require.Equal(t, want, status, out)
		require.NotContains(t, out, "nothing to repair", "nobody knows")
	}
}

// Of a store each file is repaired.
func TestRepairStore(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer fs.Close()
	c, err := blosc2.CreateStore(ctx, fs, "s.b2d", blosc2.StoreSpec{}, blosc2.Options{})
	require.NoError(t, err)
	s, err := blosc2.CreateSChunk(ctx, fs, "leaf", blosc2.Spec{}, blosc2.Options{})
	require.NoError(t, err)
	require.NoError(t, s.AppendChunk(ctx, noise(100)))
	require.NoError(t, c.(*blosc2.DictStore).Put(ctx, "/a/leaf", s))
	leaf, err := c.(*blosc2.DictStore).Get(ctx, "/a/leaf")
	require.NoError(t, err)
	require.NoError(t, leaf.Close())
	require.NoError(t, c.Close())
	name := filepath.Join(dir, "s.b2d", "a", "leaf.b2f")
	old, err := os.ReadFile(name)
	require.NoError(t, err)
	w, err := blosc2.Open(ctx, fs, "s.b2d/a/leaf.b2f", blosc2.Options{Write: true})
	require.NoError(t, err)
	require.NoError(t, w.(*blosc2.SChunk).AppendChunk(ctx, noise(100)))
	headerLen := w.(*blosc2.SChunk).Header().HeaderLen
	require.NoError(t, w.Close())
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	copy(b, old[:headerLen])
	require.NoError(t, os.WriteFile(name, b, 0o666))

	status, out := runs(t, "repair", "--discard", filepath.Join(dir, "s.b2d"))
	require.Zero(t, status, out)
	require.Contains(t, out, "leaf.b2f: repaired: 2 chunks, there were 1")
	require.NoFileExists(t, name+keptEnding)
	status, out = runs(t, "verify", filepath.Join(dir, "s.b2d"))
	require.Zero(t, status, out)
}

// The directory of a zip, the header of a sparse frame; and what is lost is told,
// with the status of damage. "verify --repair" does the same before it looks.
func TestRepairKinds(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "s.b2z")
	b, err := os.ReadFile("../../testdata/blosc2/store/dict-ext.b2z")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, b[:len(b)-22], 0o666))
	status, out := runs(t, "repair", "--dry-run", name)
	require.Zero(t, status, out)
	require.Contains(t, out, " would be repaired: ")
	status, out = runs(t, "verify", "--repair", name)
	require.Zero(t, status, out)
	require.Contains(t, out, " members, there were 0; 0 bytes dropped; as it was: "+name+keptEnding)
	require.Contains(t, out, "damaged 0")

	ctx := t.Context()
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer fs.Close()
	s, err := blosc2.CreateSChunk(ctx, fs, "s.b2frame", blosc2.Spec{ChunkSize: 100, Sparse: true}, blosc2.Options{})
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, s.AppendChunk(ctx, noise(100)))
	}
	require.NoError(t, s.Close())
	name = filepath.Join(dir, "s.b2frame")
	index := filepath.Join(name, "chunks.b2frame")
	b, err = os.ReadFile(index)
	require.NoError(t, err)
	clear(b[16:24])
	require.NoError(t, os.WriteFile(index, b, 0o666))
	status, out = runs(t, "repair", name)
	require.Zero(t, status, out)
	require.Contains(t, out, "repaired: 3 chunks, there were 0")
	require.FileExists(t, filepath.Join(name+keptEnding, "chunks.b2frame"))
	require.NoError(t, os.Remove(filepath.Join(name, "00000001.chunk")))
	status, out = runs(t, "repair", name)
	require.Equal(t, statusDamaged, status, out)
	require.Contains(t, out, "not repaired: chunk 1: ")
}

// Of a store what is gone is told, and what was left behind removed.
func TestRepairStoreTells(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "s.b2d")
	require.NoError(t, os.CopyFS(name, os.DirFS("../../testdata/blosc2/store/tree.b2d")))
	left := filepath.Join(name, "a.b2nd.gridhold-0.tmp")
	require.NoError(t, os.WriteFile(left, []byte("half"), 0o666))
	status, out := runs(t, "repair", name)
	require.Zero(t, status, out)
	require.Equal(t, name+": 1 files that killed writers left removed\n", out)
	require.NoFileExists(t, left)
	require.NoError(t, os.Truncate(filepath.Join(name, "embed.b2e"), 50))
	status, out = runs(t, "repair", "--json", name)
	require.Equal(t, statusDamaged, status, out)
	require.Contains(t, out, `"lost": [`)
}
