package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/internal/golden"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

// TestGoldenImages reads every image of testdata in the sandbox, from files
// and from a store, by its hash. Damaged ones are refused as natively, in a
// memory of 400 MiB and in two seconds.
func TestGoldenImages(t *testing.T) {
	dir, m, err := golden.LoadImages()
	require.NoError(t, err)
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer fs.Close()
	s := newSandbox(t, host.Config{Memory: 400 << 20})
	st := loadDir(t, dir)
	native := image.Files(fs, image.FilesOptions{})
	for _, files := range []*host.Images{s.Images(fs, image.FilesOptions{}), s.ImageObjects(st, image.FilesOptions{})} {
		for _, f := range m.Files {
			if kind, refused := strings.CutPrefix(f.Expect, "error:"); refused {
				storagetest.Within(t, 2*time.Second, func() {
					_, err := files.Open(t.Context(), f.File)
					require.ErrorContains(t, err, strings.ReplaceAll(kind, "-", " "))
					_, want := native.Open(t.Context(), f.File)
					require.EqualError(t, err, want.Error())
					require.Equal(t, fault.CodeOf(want), fault.CodeOf(err))
				})
				continue
			}
			r, err := files.Open(t.Context(), f.File)
			require.NoError(t, err, f.File)
			want, err := native.Open(t.Context(), f.File)
			require.NoError(t, err)
			require.Equal(t, want.Describe(), r.Describe(), f.File)
			is := r.Describe()
			all := make([]byte, is.Bytes())
			require.NoError(t, r.ReadImages(t.Context(), all, 0), f.File)
			if f.Expect != "ok:0-images" {
				size := len(all) / len(f.SHA256)
				for i, hash := range f.SHA256 {
					require.Equal(t, hash, sum(all[i*size:(i+1)*size]), "%s, image %d", f.File, i)
				}
				last := make([]byte, is.ImageBytes())
				require.NoError(t, r.ReadImages(t.Context(), last, is.Count-1))
				require.Equal(t, all[len(all)-len(last):], last)
			}
			require.ErrorIs(t, r.ReadImages(t.Context(), make([]byte, is.ImageBytes()), is.Count), fault.ErrOutOfRange)
			require.NoError(t, want.Close())
			require.NoError(t, r.Close())
			require.ErrorIs(t, r.ReadImages(t.Context(), make([]byte, is.ImageBytes()), 0), fault.ErrClosed)
		}
	}
}

// TestGoldenTables wants every row as natively.
func TestGoldenTables(t *testing.T) {
	dir, m, err := golden.LoadImages()
	require.NoError(t, err)
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer fs.Close()
	s := newSandbox(t, host.Config{})
	st := loadDir(t, dir)
	for _, table := range m.Tables {
		var want []image.TableRow
		f, err := os.Open(filepath.Join(dir, table.File))
		require.NoError(t, err)
		info, err := image.ReadTable(t.Context(), f, table.File, image.TableOptions{}, func(r image.TableRow) error {
			want = append(want, r)
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.Len(t, want, table.Rows)
		for _, read := range []func(each func(image.TableRow) error) (image.TableInfo, error){
			func(each func(image.TableRow) error) (image.TableInfo, error) {
				return s.ReadTable(t.Context(), fs, table.File, table.File, image.TableOptions{}, each)
			},
			func(each func(image.TableRow) error) (image.TableInfo, error) {
				return s.ReadTableObject(t.Context(), st, table.File, table.File, image.TableOptions{}, each)
			},
		} {
			var rows []image.TableRow
			got, err := read(func(r image.TableRow) error {
				rows = append(rows, r)
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, info, got)
			require.Equal(t, want, rows)
			mine := errors.New("mine")
			_, err = read(func(image.TableRow) error { return mine })
			require.ErrorIs(t, err, mine)
		}
	}
}

// A table of more rows than an answer holds comes in parts; rows before a
// damaged one are given.
func TestTableInParts(t *testing.T) {
	const rows = 60_000
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("data_\nloop_\n_rlnImageName\n")
	for range rows {
		text.WriteString("7@a.mrcs\n")
	}
	text.WriteString("0@a.mrcs\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.star"), []byte(text.String()), 0o666))
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer fs.Close()
	s := newSandbox(t, host.Config{Memory: 32 << 20})
	n := int64(0)
	_, err = s.ReadTable(t.Context(), fs, "p.star", "particles", image.TableOptions{}, func(r image.TableRow) error {
		require.Equal(t, n, r.Row)
		require.Equal(t, image.ImageLocation{Key: "a.mrcs", Index: 6}, r.ImageLocation)
		n++
		return nil
	})
	require.ErrorIs(t, err, fault.ErrInvalid)
	require.Contains(t, err.Error(), "particles: line 60004")
	require.EqualValues(t, rows, n)
}

// An open stack outlives the guest, but not a change of its file.
func TestStackOutlivesTheGuest(t *testing.T) {
	dir, m, err := golden.LoadImages()
	require.NoError(t, err)
	mine := t.TempDir()
	b, err := os.ReadFile(filepath.Join(dir, m.Files[0].File))
	require.NoError(t, err)
	name := filepath.Join(mine, "a.mrcs")
	require.NoError(t, os.WriteFile(name, b, 0o666))
	fs, err := file.OpenFS(mine)
	require.NoError(t, err)
	defer fs.Close()
	s := newSandbox(t, host.Config{})
	r, err := s.Images(fs, image.FilesOptions{}).Open(t.Context(), "a.mrcs")
	require.NoError(t, err)
	defer r.Close()
	one := make([]byte, r.Describe().ImageBytes())
	require.Error(t, s.Trap())
	require.NoError(t, r.ReadImages(t.Context(), one, 0))
	require.Equal(t, m.Files[0].SHA256[0], sum(one))
	other, err := os.ReadFile(filepath.Join(dir, "mode2_le_7x16x16.mrcs"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, other, 0o666))
	require.Error(t, s.Trap())
	require.ErrorIs(t, r.ReadImages(t.Context(), one, 0), fault.ErrStale)
}
