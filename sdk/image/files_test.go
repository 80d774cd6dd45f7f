package image_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/golden"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

func TestNames(t *testing.T) {
	for _, tc := range []struct {
		key   string
		roots []string
		want  []string // nil: ErrInvalid
	}{
		{"a.mrcs", nil, []string{"a.mrcs"}},
		{"./A/../A//p.mrcs", nil, []string{"A/p.mrcs"}},
		{"/abs/p.mrcs", []string{"proj"}, []string{"abs/p.mrcs"}},
		{"J1/p.mrcs", []string{"proj/J7", "proj", ""}, []string{"proj/J7/J1/p.mrcs", "proj/J1/p.mrcs", "J1/p.mrcs"}},
		{"p.mrc:mrcs", []string{"x", "y"}, []string{"x/p.mrc:mrcs", "y/p.mrc:mrcs", "x/p.mrc", "y/p.mrc"}},
		{"p.mrc:other", nil, []string{"p.mrc:other"}},
		{"../p.mrcs", []string{"a/b", ""}, []string{"a/p.mrcs"}},
		{"../p.mrcs", nil, nil},
		{"", nil, nil},
		{"a\\b", nil, nil},
	} {
		got, err := image.Names(tc.key, tc.roots...)
		if tc.want == nil {
			require.ErrorIs(t, err, fault.ErrInvalid, tc.key)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tc.want, got)
	}
	require.Equal(t, []string{"a/b./c", "a/b.", "a", ""}, image.Ancestors("/a/b./c/"))
	require.Equal(t, []string{""}, image.Ancestors(""))
}

// Two files of one name are two files, whatever leads to them.
func TestKeysAreNotShortened(t *testing.T) {
	dir, _, err := golden.LoadImages()
	require.NoError(t, err)
	fs := storage.NewMemoryFS(0)
	for from, to := range map[string]string{"mode1_le_7x16x16.mrcs": "A/p.mrcs", "mode2_le_7x16x16.mrcs": "B/p.mrcs", "stack_named.mrc": "n.mrc"} {
		b, err := os.ReadFile(filepath.Join(dir, from))
		require.NoError(t, err)
		if d := filepath.Dir(to); d != "." {
			require.NoError(t, fs.Mkdir(ctx, d))
		}
		put(t, fs, to, b)
	}
	files := image.Files(fs, image.FilesOptions{})
	for key, want := range map[string]image.Type{
		"A/p.mrcs": image.Int16, "B/p.mrcs": image.Float32, "./A/../A/p.mrcs": image.Int16, "/B/p.mrcs": image.Float32, "n.mrc:mrcs": image.Float32,
	} {
		r, err := files.Open(ctx, key)
		require.NoError(t, err)
		require.Equal(t, want, r.Describe().Type)
		require.NoError(t, r.Close())
		_, err = files.(image.Stater).Stat(ctx, key)
		require.NoError(t, err)
	}
	for _, key := range []string{"p.mrcs", "A", "b/p.mrcs", "p.mrc:mrcs"} {
		_, err := files.Open(ctx, key)
		require.Error(t, err)
		require.Contains(t, err.Error(), key)
	}
	_, err = files.Open(ctx, "C/p.mrcs")
	require.ErrorIs(t, err, fault.ErrNotFound)
}
