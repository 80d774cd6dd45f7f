package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/zarr"
)

func TestCopy(t *testing.T) {
	src := filepath.Join(fixtures, "nested2_zarrs")
	want := gridhold(t, "read", src)
	require.Zero(t, want.status)
	for name, flags := range map[string][]string{
		"as it is":         nil,
		"resharded":        {"--chunks", "4,4", "--shards", "8,24", "--order", "morton", "--index-at-start"},
		"not sharded":      {"--shards", "none", "--codec", "gzip:9"},
		"raw":              {"--codec", "none"},
		"codecs":           {"--chunks", "5,7", "--shards", "10,7", "--codec", `[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"big"}},{"name":"crc32c"}]`},
		"in the sandbox":   {"--engine", "wasm"},
		"best compression": {"--codec", "zstd:19"},
	} {
		t.Run(name, func(t *testing.T) {
			dst := filepath.Join(t.TempDir(), "copy")
			r := gridhold(t, append([]string{"copy", src, dst}, flags...)...)
			require.Zero(t, r.status, r.stderr)
			require.Empty(t, r.stderr, "no bar where there is no terminal")
			got := gridhold(t, "read", dst)
			require.Zero(t, got.status, got.stderr)
			require.Equal(t, want.stdout, got.stdout)
			require.Zero(t, gridhold(t, "verify", dst).status)
			entries, err := os.ReadDir(filepath.Dir(dst))
			require.NoError(t, err)
			require.Len(t, entries, 1, "nothing beside it")
		})
	}
}

func TestCopyOfGroups(t *testing.T) {
	for _, name := range []string{"group_consolidated", "group_v2", "ome_pyramid"} {
		src, dst := filepath.Join(fixtures, name), filepath.Join(t.TempDir(), "copy")
		require.Zero(t, gridhold(t, "copy", src, dst).status)
		require.Equal(t, gridhold(t, "ls", "--json", src).stdout, gridhold(t, "ls", "--json", dst).stdout)
		require.Zero(t, gridhold(t, "verify", dst).status)
	}
}

func TestCopyKeepsItsHandsOff(t *testing.T) {
	src := filepath.Join(fixtures, "plain_zstd")
	dir := t.TempDir()
	theirs := filepath.Join(dir, "theirs")
	require.NoError(t, os.Mkdir(theirs, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(theirs, "letter.txt"), []byte("dear"), 0o666))
	for _, flags := range [][]string{nil, {"--overwrite"}} {
		r := gridhold(t, append([]string{"copy", src, theirs}, flags...)...)
		require.Equal(t, 1, r.status)
		require.Contains(t, r.stderr, theirs)
		require.FileExists(t, filepath.Join(theirs, "letter.txt"))
	}
	ours := filepath.Join(dir, "ours")
	require.Zero(t, gridhold(t, "copy", src, ours).status)
	require.Equal(t, 1, gridhold(t, "copy", src, ours).status)
	require.Zero(t, gridhold(t, "copy", "--overwrite", "--shards", "8,8", src, ours).status)
	require.Equal(t, gridhold(t, "read", src).stdout, gridhold(t, "read", ours).stdout)

	bad := filepath.Join(fixtures, "corrupt", "inner_crc_wrong")
	r := gridhold(t, "copy", bad, filepath.Join(dir, "bad"))
	require.Equal(t, 1, r.status)
	require.NoDirExists(t, filepath.Join(dir, "bad"), "a copy that fails is none")
	for _, wrong := range [][]string{{"--chunks", "4"}, {"--chunks", "x"}, {"--codec", "lzw"}, {"--codec", "zstd:x"}, {"--order", "z"}} {
		r := gridhold(t, append([]string{"copy", src, filepath.Join(dir, "bad")}, wrong...)...)
		require.Equal(t, 2, r.status, "%v: %s", wrong, r.stderr)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
}

// A copy within its own source, or in a place with two names.
func TestCopyToOddPlaces(t *testing.T) {
	src, err := filepath.Abs(filepath.Join(fixtures, "group_consolidated"))
	require.NoError(t, err)
	dir := t.TempDir()
	group := filepath.Join(dir, "group")
	require.Zero(t, gridhold(t, "copy", src, group).status)
	want := gridhold(t, "ls", "--json", group).stdout
	inside := filepath.Join(group, "inside")
	require.Zero(t, gridhold(t, "copy", group, inside).status)
	require.Equal(t, want, gridhold(t, "ls", "--json", inside).stdout)
	require.Zero(t, gridhold(t, "copy", "--overwrite", inside, inside).status)
	require.Equal(t, want, gridhold(t, "ls", "--json", inside).stdout)

	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(inside, link))
	require.Zero(t, gridhold(t, "copy", "--overwrite", src, link).status)
	real, err := filepath.EvalSymlinks(link)
	require.NoError(t, err)
	require.Equal(t, "inside", filepath.Base(real), "the link still leads there")
	require.Equal(t, want, gridhold(t, "ls", "--json", inside).stdout)

	t.Chdir(t.TempDir())
	require.Zero(t, gridhold(t, "copy", src, ".").status)
	require.Equal(t, 2, gridhold(t, "copy", src, "").status)
}

// What a copy that was killed leaves behind is no node of the group.
func TestHalfACopyIsNotListed(t *testing.T) {
	group := filepath.Join(t.TempDir(), "group")
	src := filepath.Join(fixtures, "group_consolidated")
	require.Zero(t, gridhold(t, "copy", src, group).status)
	want := gridhold(t, "ls", "--json", group).stdout
	half, err := newTarget(t.Context(), filepath.Join(group, "new"), false)
	require.NoError(t, err)
	require.NoError(t, os.CopyFS(half.beside, os.DirFS(src)))
	require.Equal(t, want, gridhold(t, "ls", "--json", group).stdout)
	require.Zero(t, gridhold(t, "copy", src, filepath.Join(group, "other")).status)
	require.DirExists(t, half.beside, "another copy leaves it alone")
	require.NoError(t, half.close(nil))
	require.DirExists(t, filepath.Join(group, "new"))
}

func TestBar(t *testing.T) {
	require.Equal(t, "/a [###############...............] 2/4  10.0 MB/s ", bar("/a", zarr.Copied{Chunks: 2, Total: 4, Bytes: 20e6}, 2*time.Second))
	require.Contains(t, bar("/a", zarr.Copied{}, 0), "0/0")
}
