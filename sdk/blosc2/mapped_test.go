package blosc2_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

func mappings(t *testing.T, fs storage.FS, name string) {
	t.Helper()
	f, err := fs.Open(t.Context(), name, storage.OpenRead)
	require.NoError(t, err)
	defer f.Close()
	m, err := f.(storage.Mapper).Map()
	if fault.CodeOf(err) == fault.CodeUnsupported {
		t.Skip("no mappings here")
	}
	require.NoError(t, err)
	require.NoError(t, m.Close())
}

func TestMapped(t *testing.T) {
	ctx, fs := t.Context(), openTestdata(t)
	mappings(t, fs, "ndim/2d.b2nd")
	for _, e := range manifest(t) {
		c, err := blosc2.Open(ctx, fs, e.File, blosc2.Options{Map: true, Workers: 2})
		require.NoError(t, err, e.File)
		switch c := c.(type) {
		case *blosc2.SChunk, *blosc2.NDArray:
			b, err := whole(t, c)
			if err == nil && e.SHA256 != "" {
				require.Equal(t, e.SHA256, sum(b), e.File)
			}
		case *blosc2.DictStore:
			for key, k := range e.Keys {
				leaf, err := c.Get(ctx, key)
				require.NoError(t, err)
				b, err := whole(t, leaf)
				require.NoError(t, err)
				require.Equal(t, k.SHA256, sum(b), e.File)
				require.NoError(t, leaf.Close())
			}
		}
		require.NoError(t, c.Close())
	}
}

func TestMappedFilesThatChange(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer fs.Close()
	all := counted(30 * 100)
	a, err := blosc2.CreateFrom(ctx, fs, "a", blosc2.Shape{Shape: []int64{30, 100}, DType: "<i4", Chunks: []int64{10, 100}}, all, blosc2.Spec{}, writing)
	require.NoError(t, err)
	mappings(t, fs, "a")
	c, err := blosc2.Open(ctx, fs, "a", blosc2.Options{Map: true})
	require.NoError(t, err)
	b := c.(*blosc2.NDArray)
	require.Equal(t, all, items(t, b))

	require.NoError(t, a.Append(ctx, 0, all))
	_, err = b.Refresh(ctx)
	require.NoError(t, err)
	require.Equal(t, append(all, all...), items(t, b))
	require.NoError(t, a.SChunk().Compact(ctx)) // another file by now
	_, err = b.Refresh(ctx)
	require.NoError(t, err)
	require.Equal(t, append(all, all...), items(t, b))

	require.NoError(t, os.Truncate(filepath.Join(dir, "a"), 0))
	_, err = b.Slice(ctx, nil, nil)
	require.Error(t, err, "not the end of the program")
	require.NoError(t, b.Close())
	require.NoError(t, a.Close())
}

func TestMapRefuses(t *testing.T) {
	ctx, fs := t.Context(), openTestdata(t)
	for _, o := range []blosc2.Options{{Map: true, Write: true}, {Map: true, Locking: blosc2.Locked}} {
		_, err := blosc2.Open(ctx, fs, "ndim/2d.b2nd", o)
		require.ErrorIs(t, err, fault.ErrInvalid)
	}
	memory := storage.NewMemoryFS(0)
	write(t, memory, "x", "PK\x03\x04")
	_, err := blosc2.Open(ctx, memory, "x", blosc2.Options{Map: true})
	require.ErrorIs(t, err, fault.ErrUnsupported)
}
