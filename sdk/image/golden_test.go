package image_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/golden"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

var ctx = context.Background()

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// loadImages puts the image files into a file system and a store in memory.
func loadImages(t testing.TB) (*golden.ImageManifest, *storage.MemoryFS, *storage.Memory) {
	t.Helper()
	dir, m, err := golden.LoadImages()
	require.NoError(t, err)
	fs, st := storage.NewMemoryFS(0), storage.NewMemory()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		put(t, fs, e.Name(), b)
		st.Set(e.Name(), b)
	}
	return m, fs, st
}

func put(t testing.TB, fs storage.FS, name string, b []byte) {
	t.Helper()
	f, err := fs.Open(ctx, name, storage.OpenRead|storage.OpenWrite|storage.OpenCreate|storage.OpenTruncate)
	require.NoError(t, err)
	defer f.Close()
	if len(b) > 0 {
		_, err = f.WriteAt(b, 0)
		require.NoError(t, err)
	}
}

func TestGolden(t *testing.T) {
	m, fs, st := loadImages(t)
	require.Len(t, m.Files, 74)
	for _, f := range m.Files {
		for name, files := range map[string]image.ReaderProvider{
			"file":  image.Files(fs, image.FilesOptions{}),
			"store": image.Objects(st, image.FilesOptions{}),
		} {
			t.Run(f.File+"/"+name, func(t *testing.T) {
				kind, refused := strings.CutPrefix(f.Expect, "error:")
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				r, err := files.Open(ctx, f.File)
				runtime.ReadMemStats(&after)
				if refused {
					require.Error(t, err)
					require.Contains(t, err.Error(), f.File)
					require.Contains(t, err.Error(), strings.ReplaceAll(kind, "-", " "))
					require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
					if strings.Contains(f.File, "gzip") {
						require.Contains(t, err.Error(), "gzip")
					}
					return
				}
				require.NoError(t, err)
				defer func() { require.NoError(t, r.Close()) }()
				readsAs(t, f, r)
			})
		}
	}
}

// readsAs holds each image, or volume, against the manifest, and what a
// FileReader says of the place of its bytes against what it reads.
func readsAs(t *testing.T, f golden.ImageFile, r image.Reader) {
	d := r.Describe()
	require.NoError(t, d.Check())
	if f.Expect == "ok:0-images" {
		require.Zero(t, d.Count)
		return
	}
	require.Equal(t, f.Type, d.Type.String())
	all := make([]byte, d.Bytes())
	require.NoError(t, r.ReadImages(ctx, all, 0))
	size := len(all) / int(f.Images)
	require.Len(t, f.SHA256, int(f.Images))
	for i, want := range f.SHA256 {
		require.Equal(t, want, sum(all[i*size:(i+1)*size]), "image %d", i)
	}
	h := r.(interface{ Header() *image.MRCHeader }).Header()
	require.Equal(t, f.Endian == "big", h.BigEndian)
	one := make([]byte, d.ImageBytes())
	for i := d.Count - 1; i >= 0; i-- {
		require.NoError(t, r.ReadImages(ctx, one, i))
		at := all[i*int64(len(one)):][:len(one)]
		require.Equal(t, at, one)
		if fr, ok := r.(image.FileReader); ok {
			span, raw := fr.Span(i, 1)
			b := make([]byte, span.Len)
			_, err := fr.File().ReadAt(b, span.Off)
			require.NoError(t, err)
			if raw {
				require.Equal(t, at, b)
			}
		}
	}
	require.ErrorIs(t, r.ReadImages(ctx, one, d.Count), fault.ErrOutOfRange)
	require.ErrorIs(t, r.ReadImages(ctx, one, -1), fault.ErrOutOfRange)
	if len(one) > 1 {
		require.ErrorIs(t, r.ReadImages(ctx, one[1:], 0), fault.ErrInvalid)
	}
}

func TestShapes(t *testing.T) {
	_, fs, _ := loadImages(t)
	files := image.Files(fs, image.FilesOptions{})
	for _, tc := range []struct {
		key   string
		shape []int64
		core  int
		one   []int64
	}{
		{"mode2_le_7x16x16.mrcs", []int64{7, 16, 16}, 2, []int64{16, 16}},
		{"stack1_f32_1x24x24.mrcs", []int64{1, 24, 24}, 2, []int64{24, 24}},
		{"single_f32_24x24.mrc", []int64{24, 24}, 2, []int64{24, 24}},
		{"single_f32_24x24.mrc:mrcs", []int64{1, 24, 24}, 2, []int64{24, 24}},
		{"volume_f32_12x10x8.mrc", []int64{12, 10, 8}, 3, []int64{10, 8}},
		{"volume_stack_401_12x6x5_mz4.mrcs", []int64{3, 4, 6, 5}, 3, []int64{4, 6, 5}},
		{"stack_ispg1_6x8x8.mrcs", []int64{6, 8, 8}, 3, []int64{8, 8}},
		{"volume_ispg0_mz_6x6x6.mrc", []int64{6, 6, 6}, 2, []int64{6, 6}},
		{"mode101_odd_5x9x15.mrcs", []int64{5, 9, 15}, 2, []int64{9, 15}},
	} {
		t.Run(tc.key, func(t *testing.T) {
			r, err := files.Open(ctx, tc.key)
			require.NoError(t, err)
			defer r.Close()
			d := r.Describe()
			require.Equal(t, tc.shape, d.Shape)
			require.Equal(t, tc.core, d.CoreRank)
			require.Equal(t, tc.one, d.ImageShape)
			_, _, err = d.Images(image.ImageLocation{Key: tc.key, Index: d.Count})
			require.ErrorIs(t, err, fault.ErrOutOfRange)
		})
	}
}
