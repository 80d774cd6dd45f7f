package blosc2_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// viewFS gives files whose mappings count how often they are used, or fail.
type viewFS struct {
	*file.FS
	uses  int
	fails bool
}

func (s *viewFS) Open(ctx context.Context, name string, flags storage.OpenFlag) (storage.File, error) {
	f, err := s.FS.Open(ctx, name, flags)
	if err != nil {
		return nil, err
	}
	return &viewFile{f, s}, nil
}

type viewFile struct {
	storage.File
	fs *viewFS
}

func (f *viewFile) Map() (storage.Mapping, error) {
	m, err := f.File.(storage.Mapper).Map()
	return &viewMapping{m, f.fs}, err
}

type viewMapping struct {
	storage.Mapping
	fs *viewFS
}

func (m *viewMapping) View(do func(data []byte) error) error {
	m.fs.uses++
	return m.Mapping.(interface {
		View(func([]byte) error) error
	}).View(func(data []byte) error {
		err := do(data)
		if m.fs.fails {
			err = fault.New(fault.ErrIO, "mmap", "", "cut") // after some of the result is there
		}
		return err
	})
}

// Parts of chunks are read through a mapping where there is one. That it cannot
// be read, or that the file grew or was cut since, is as if there were none.
func TestPartsOfMappedChunks(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	plain, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer plain.Close()
	fs := &viewFS{FS: plain}
	all := counted(64 * 100)
	shape := blosc2.Shape{Shape: []int64{64, 100}, DType: "<i4", Chunks: []int64{64, 100}, Blocks: []int64{8, 100}}
	w, err := blosc2.CreateFrom(ctx, plain, "a", shape, all, blosc2.Spec{}, writing)
	require.NoError(t, err)
	defer w.Close()
	mappings(t, plain, "a")
	open := func() *blosc2.NDArray {
		c, err := blosc2.Open(ctx, fs, "a", blosc2.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		return c.(*blosc2.NDArray)
	}
	a := open()
	rows := func(n int64) {
		t.Helper()
		for _, i := range []int64{0, 7, 8, 8, 8, 9, n - 1} {
			b, err := a.Slice(ctx, []blosc2.Span{{Start: i, Stop: i + 1}, {Stop: 100}}, nil)
			require.NoError(t, err)
			require.Equal(t, all[i*400:(i+1)*400], b)
			b, err = a.SChunk().Slice(ctx, i*100, i*100+30, nil)
			require.NoError(t, err)
			require.Equal(t, all[i*400:i*400+120], b)
		}
	}
	rows(64)
	require.Positive(t, fs.uses)
	fs.fails = true
	rows(64)
	fs.fails = false
	require.NoError(t, w.Append(ctx, 0, all))
	all = append(all, all...)
	rows(128)

	require.NoError(t, os.Truncate(filepath.Join(dir, "a"), 600)) // with the header as it was
	_, err = a.Slice(ctx, []blosc2.Span{{Stop: 1}, {Stop: 100}}, nil)
	require.Error(t, err)
	require.NotErrorIs(t, err, fault.ErrIO)
}
