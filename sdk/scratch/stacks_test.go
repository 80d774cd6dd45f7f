package scratch

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/golden"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// stackDesk is a desk with MRC files of the fixtures.
func stackDesk(t *testing.T, names ...string) (*desk, image.ReaderProvider) {
	t.Helper()
	from, _, err := golden.LoadImages()
	require.NoError(t, err)
	d := newDesk(t, 1, 1)
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(from, name))
		require.NoError(t, err)
		d.put(name, b)
	}
	return d, image.Files(d.fs, image.FilesOptions{})
}

// put makes a file, in place of one that is there.
func (d *desk) put(name string, b []byte) {
	d.t.Helper()
	f, err := d.fs.Open(ctx, name, readWrite|storage.OpenCreate|storage.OpenTruncate)
	require.NoError(d.t, err)
	_, err = f.WriteAt(b, 0)
	require.NoError(d.t, err)
	require.NoError(d.t, f.Close())
}

// Every image there is a fixture of goes through one scratch, whatever its
// type, shape and byte order are, in as many bytes as it is stored in.
func TestStacksOfAllKinds(t *testing.T) {
	_, m, err := golden.LoadImages()
	require.NoError(t, err)
	var names []string
	hashes := map[string][]string{}
	for _, f := range m.Files {
		if f.Expect == "ok" && len(f.SHA256) > 0 {
			names = append(names, f.File)
			hashes[f.File] = f.SHA256
		}
	}
	require.Greater(t, len(names), 40)
	d, files := stackDesk(t, names...)
	var all [][]image.ImageLocation
	for _, name := range names {
		all = append(all, images(name))
	}
	g := group(t, all...)
	for name, create := range map[string]func() (*ImageScratch, error){
		"host": func() (*ImageScratch, error) {
			return CreateHostImageScratch(ctx, g, 3, Everything, files, waiting)
		},
		"mapped file": func() (*ImageScratch, error) {
			return CreateMappedFileImageScratch(ctx, g, d.fs, "scr", 3, Everything, files, waiting)
		},
		"directory": func() (*ImageScratch, error) {
			return CreateDirectoryImageScratch(ctx, g, d.fs, "dir", 3, Everything, files, waiting)
		},
	} {
		s, err := create()
		require.NoError(t, err)
		stored, reads := int64(0), int64(0)
		for pass := range 2 {
			for key, want := range hashes {
				is, ok := s.Describe(key)
				require.True(t, ok)
				if pass == 0 {
					stored += is.Bytes()
				}
				got := make([]byte, is.Bytes())
				require.NoError(t, s.ReadImages(ctx, key, got, 0))
				for i, h := range want {
					n := len(got) / len(want)
					sum := sha256.Sum256(got[i*n : (i+1)*n])
					require.Equal(t, h, hex.EncodeToString(sum[:]), "%s, %s, image %d", name, key, i)
				}
			}
			if pass == 0 {
				reads = s.Stats().SourceReads
			}
		}
		st := s.Stats()
		require.Equal(t, stored, st.PresentBytes, name)
		require.Equal(t, stored, st.FilledBytes, name)
		require.Equal(t, reads, st.SourceReads, "%s: the second time it is all there", name)
		require.NoError(t, s.Close())
	}
}

// A table may mix types: a loader makes one of them, exactly.
func TestStacksOfSeveralTypes(t *testing.T) {
	single, half := "mode2_le_7x16x16.mrcs", "mode12_be_7x16x16.mrcs"
	_, files := stackDesk(t, single, half)
	s, err := CreateHostImageScratch(ctx, group(t, images(single), images(half)), 3, Everything, files, waiting)
	require.NoError(t, err)
	closing(t, s)
	const pixels = 16 * 16
	got := make([]byte, 14*4*pixels)
	rows := append(images(half, upTo(7)...), images(single, upTo(7)...)...)
	require.NoError(t, loaderOf(t, s, LoaderOptions{Type: image.Float32}).ReadBatch(ctx, got, rows))
	want := make([]byte, len(got))
	for i, key := range []string{half, single} {
		r, err := files.Open(ctx, key)
		require.NoError(t, err)
		raw := make([]byte, r.Describe().Bytes())
		require.NoError(t, r.ReadImages(ctx, raw, 0))
		require.NoError(t, image.Cast(want[i*7*4*pixels:][:7*4*pixels], image.Float32, raw, r.Describe().Type))
		require.NoError(t, r.Close())
	}
	require.Equal(t, want, got)
	require.Equal(t, int64(7*pixels*(4+2)), s.Stats().PresentBytes)
}

// Of a stack that is still being written, whole images are there. What is cut
// short is an error each time it is asked for, until it is whole.
func TestStackThatGrows(t *testing.T) {
	const name = "mode2_le_7x16x16.mrcs"
	d, files := stackDesk(t, name)
	from, _, err := golden.LoadImages()
	require.NoError(t, err)
	whole, err := os.ReadFile(filepath.Join(from, name))
	require.NoError(t, err)
	for _, n := range []int{0, 1, 1023, 1024, 1024 + 4*1024 + 100} {
		d.put(name, whole[:n])
		_, err := CreateHostImageScratch(ctx, group(t, images(name)), 2, Everything, files, waiting)
		require.ErrorIs(t, err, fault.ErrCorrupt)
		require.ErrorContains(t, err, "truncated")
	}
	partial := image.Files(d.fs, image.FilesOptions{MRCOptions: image.MRCOptions{AllowPartial: true}})
	s, err := CreateHostImageScratch(ctx, group(t, images(name)), 2, Everything, partial, waiting)
	require.NoError(t, err)
	closing(t, s)
	read := func(i int64) ([]byte, error) {
		got := make([]byte, 1024)
		return got, s.ReadImages(ctx, name, got, i)
	}
	for range 2 {
		for i := range int64(7) {
			got, err := read(i)
			if i >= 4 {
				require.ErrorIs(t, err, fault.ErrCorrupt, "image %d", i)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, whole[1024+i*1024:][:1024], got)
		}
	}
	require.Equal(t, int64(4), s.Stats().Present)
	d.put(name, whole)
	for i := range int64(14) { // what was taken in before it grew is taken in anew
		got, err := read(i % 7)
		require.NoError(t, err)
		require.Equal(t, whole[1024+i%7*1024:][:1024], got)
	}
	require.Equal(t, int64(7), s.Stats().Present)
}
