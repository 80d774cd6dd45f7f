package interop

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
)

// Whatever takes the place of a container takes that of the one that a link
// leads to, and the link stays.
func TestBlosc2BehindLinks(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer fs.Close()
	require.NoError(t, fs.Mkdir(ctx, "disk"))
	spec := blosc2.Spec{Params: quick}
	array := func(name string, replace bool) *blosc2.NDArray {
		spec.Replace = replace
		a, err := blosc2.CreateArray(ctx, fs, name, blosc2.Shape{Shape: []int64{1, 8}, DType: "<i8"}, spec, writing)
		require.NoError(t, err)
		return a
	}
	link := func(name string) string {
		require.NoError(t, os.Symlink(filepath.Join("disk", name), filepath.Join(dir, name)))
		return name
	}
	// stays: the link does, and what it leads to is what is opened by it now.
	stays := func(name string, was os.FileInfo) os.FileInfo {
		_, err := os.Readlink(filepath.Join(dir, name))
		require.NoError(t, err)
		is, err := os.Stat(filepath.Join(dir, "disk", name))
		require.NoError(t, err)
		require.False(t, was != nil && os.SameFile(was, is), "nothing took its place")
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			require.NotEqual(t, ".tmp", filepath.Ext(e.Name()))
		}
		return is
	}

	require.NoError(t, array("disk/a.b2nd", false).Close())
	name := link("a.b2nd")
	is := stays(name, nil)
	a := array(name, true)
	is = stays(name, is)
	require.NoError(t, a.SChunk().Compact(ctx))
	is = stays(name, is)
	require.NoError(t, a.Squeeze(ctx))
	stays(name, is)
	require.NoError(t, a.Close())

	spec.Sparse = true
	require.NoError(t, array("disk/sparse", false).Close())
	name = link("sparse")
	is = stays(name, nil)
	require.NoError(t, array(name, true).Close())
	stays(name, is)

	store := func(name string, replace bool) *blosc2.DictStore {
		c, err := blosc2.CreateStore(ctx, fs, name, blosc2.StoreSpec{Replace: replace}, writing)
		require.NoError(t, err)
		return c.(*blosc2.DictStore)
	}
	require.NoError(t, store("disk/s.b2d", false).Close())
	name = link("s.b2d")
	is = stays(name, nil)
	s := store(name, true)
	stays(name, is)
	require.NoError(t, s.ToB2Z(ctx, fs, "disk/s.b2z", false))
	name = link("s.b2z")
	is = stays(name, nil)
	require.NoError(t, s.ToB2Z(ctx, fs, name, true))
	stays(name, is)
	require.NoError(t, s.Close())
}
