package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// same compares what read writes of two things, which are Zarr or Blosc2.
func same(t *testing.T, a, b []string) {
	t.Helper()
	status, want, errs := here(t, append([]string{"read"}, a...)...)
	require.Zero(t, status, errs)
	status, got, errs := here(t, append([]string{"read"}, b...)...)
	require.Zero(t, status, errs)
	require.Equal(t, hashOf(want), hashOf(got))
}

func copied(t *testing.T, args ...string) {
	t.Helper()
	status, _, errs := here(t, append([]string{"copy"}, args...)...)
	require.Zero(t, status, "%v: %s", args, errs)
	require.Empty(t, errs, "no bar where there is no terminal")
	status, _, errs = here(t, "verify", args[len(args)-1])
	require.Zero(t, status, errs)
}

// An array of Zarr whose type NumPy has becomes a frame, and Zarr again.
func TestCopyZarrToFrameAndBack(t *testing.T) {
	dirs, err := os.ReadDir(fixtures)
	require.NoError(t, err)
	count := 0
	for i, d := range dirs {
		if i%5 != 0 {
			continue
		}
		src := filepath.Join(fixtures, d.Name())
		status, text, _ := here(t, "info", "--json", src)
		var is struct {
			Kind string `json:"node_type"`
			Size int64  `json:"item_size"`
		}
		if !d.IsDir() || status != 0 || json.Unmarshal(text, &is) != nil || strings.Contains(string(text), `"group"`) {
			continue
		}
		dir := t.TempDir()
		frame, back := filepath.Join(dir, "a.b2nd"), filepath.Join(dir, "back")
		status, _, errs := here(t, "copy", src, frame)
		if status != 0 {
			require.Regexp(t, "Blosc2 has no such type here|31 bytes|codec", errs, src)
			require.NoFileExists(t, frame)
			continue
		}
		same(t, []string{src}, []string{frame})
		copied(t, frame, back)
		same(t, []string{src}, []string{back})
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 2, "nothing beside them")
		count++
	}
	require.Greater(t, count, 25)
}

// Frames are copied, and arrays go by way of Zarr.
func TestCopyFrames(t *testing.T) {
	arrays := 0
	for i, e := range containerEntries(t) {
		if e.Kind == "chunk" || e.Keys != nil || strings.HasPrefix(e.File, "plugin/") || i%4 != 0 {
			continue
		}
		src, dir := filepath.Join(containers, e.File), t.TempDir()
		frame := filepath.Join(dir, "copy.b2frame")
		copied(t, "--codec", "lz4:9", src, frame)
		same(t, []string{src}, []string{frame})
		if e.Shape == nil {
			continue
		}
		back := filepath.Join(dir, "back")
		if status, _, errs := here(t, "copy", src, back); status != 0 {
			require.Contains(t, errs, "no such type", e.File)
			continue
		}
		same(t, []string{src}, []string{back})
		arrays++
	}
	require.Greater(t, arrays, 40)
}

func TestCopyWithFlags(t *testing.T) {
	src, dir := filepath.Join(containers, "ndim", "2d.b2nd"), t.TempDir()
	info := func(name string) (d struct {
		Kind, Codec    string
		Level          int
		Chunks, Blocks []int64
		VLMeta         map[string]any
	}) {
		status, text, errs := here(t, "info", "--json", name)
		require.Zero(t, status, errs)
		require.NoError(t, json.Unmarshal(text, &d))
		return d
	}
	dst := filepath.Join(dir, "a.b2nd")
	copied(t, "--chunks", "45,8", "--blocks", "9,8", "--codec", "blosclz:3", src, dst)
	d := info(dst)
	require.Equal(t, []int64{45, 8}, d.Chunks)
	require.Equal(t, []int64{9, 8}, d.Blocks)
	require.Equal(t, "blosclz", d.Codec)
	require.Equal(t, 3, d.Level)
	same(t, []string{src}, []string{dst})
	require.Equal(t, info(src).VLMeta, d.VLMeta)

	zarr := filepath.Join(dir, "zarr")
	copied(t, "--chunks", "5,8", "--shards", "45,32", "--codec", "gzip:2", dst, zarr)
	same(t, []string{src}, []string{zarr})

	for _, wrong := range [][]string{
		{"--shards", "9,9", src, filepath.Join(dir, "x.b2nd")}, {"--blocks", "9,9", src, filepath.Join(dir, "x")},
		{"--codec", "gzip", src, filepath.Join(dir, "x.b2nd")}, {"--codec", "lz4:10", src, filepath.Join(dir, "x.b2nd")},
		{"--chunks", "9", src, filepath.Join(dir, "x.b2nd")}, {"--blocks", "9,9", zarr, filepath.Join(dir, "x")},
		{"--chunks", "9", filepath.Join(containers, "schunk", "one.b2frame"), filepath.Join(dir, "x.b2f")},
	} {
		status, _, errs := here(t, append([]string{"copy"}, wrong...)...)
		require.Equal(t, 2, status, "%v: %s", wrong, errs)
	}
	for _, refused := range [][]string{
		{src, dst}, // is there
		{filepath.Join(containers, "store", "dict-ext.b2z"), filepath.Join(dir, "x.b2nd")},
		{filepath.Join(containers, "schunk", "one.b2frame"), filepath.Join(dir, "x")},
		{filepath.Join(fixtures, "group_plain"), filepath.Join(dir, "x.b2nd")},
		{filepath.Join(containers, "corrupt", "chunk-bstart-oob.b2nd"), filepath.Join(dir, "x.b2nd")},
		{filepath.Join(containers, "corrupt", "chunk-bstart-oob.b2nd"), filepath.Join(dir, "x.b2z")},
	} {
		status, _, errs := here(t, append([]string{"copy"}, refused...)...)
		require.Equal(t, 1, status, "%v: %s", refused, errs)
	}
	letter := filepath.Join(dir, "letter.b2nd")
	require.NoError(t, os.WriteFile(letter, []byte("dear"), 0o666))
	zip := filepath.Join(dir, "letter.b2z")
	require.NoError(t, os.WriteFile(zip, []byte("dear"), 0o666))
	for _, theirs := range []string{letter, zip} {
		status, _, errs := here(t, "copy", "--overwrite", src, theirs)
		require.Equal(t, 1, status, errs)
		b, err := os.ReadFile(theirs)
		require.NoError(t, err)
		require.Equal(t, "dear", string(b))
	}
	copied(t, "--overwrite", src, dst)
	require.Equal(t, info(src).Chunks, info(dst).Chunks)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 4, "%v", entries)
}

func TestCopyStores(t *testing.T) {
	for _, e := range containerEntries(t) {
		if e.Keys == nil {
			continue
		}
		src, dir := filepath.Join(containers, e.File), t.TempDir()
		for _, ext := range []string{".b2z", ".b2d"} {
			dst := filepath.Join(dir, "copy"+ext)
			copied(t, src, dst)
			copied(t, "--overwrite", src, dst)
			for key, k := range e.Keys {
				if k.Type == "TreeStore" {
					continue
				}
				status, got, errs := here(t, "read", "--key", key, dst)
				require.Zero(t, status, errs)
				require.Equal(t, k.SHA256, hashOf(got), "%s %s", e.File, key)
			}
		}
		_, want, _ := here(t, "ls", src)
		_, got, _ := here(t, "ls", filepath.Join(dir, "copy.b2z"))
		require.Equal(t, string(want), string(got))
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 2, "%v", entries)
	}
}

func TestCopyGroupsToStoresAndBack(t *testing.T) {
	for _, name := range []string{"group_consolidated", "group_v2", "ome_pyramid"} {
		src, dir := filepath.Join(fixtures, name), t.TempDir()
		store, back := filepath.Join(dir, "a.b2z"), filepath.Join(dir, "back")
		copied(t, src, store)
		copied(t, store, back)
		status, want, errs := here(t, "ls", src)
		require.Zero(t, status, errs)
		_, got, _ := here(t, "ls", back)
		require.Equal(t, string(want), string(got))
		_, want, _ = here(t, "info", "--json", src)
		_, got, _ = here(t, "info", "--json", back)
		var a, b struct{ Attributes any }
		require.NoError(t, json.Unmarshal(want, &a))
		require.NoError(t, json.Unmarshal(got, &b))
		require.Equal(t, a, b)
	}
	src, dir := filepath.Join(fixtures, "plain_zstd"), t.TempDir()
	copied(t, src, filepath.Join(dir, "one.b2z"))
	same(t, []string{src}, []string{"--key", "data", filepath.Join(dir, "one.b2z")})
	copied(t, "--as", "x/y", src, filepath.Join(dir, "two.b2d"))
	same(t, []string{src}, []string{"--key", "x/y", filepath.Join(dir, "two.b2d")})
}
