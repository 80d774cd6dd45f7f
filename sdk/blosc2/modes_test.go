package blosc2_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

func write(t *testing.T, fs storage.FS, name, text string) {
	t.Helper()
	f, err := fs.Open(t.Context(), name, storage.OpenWrite|storage.OpenCreate)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte(text), 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// anew calls test with an empty file system in memory, and with a directory.
func anew(t *testing.T, test func(t *testing.T, fs storage.FS)) {
	t.Run("memory", func(t *testing.T) { test(t, storage.NewMemoryFS(0)) })
	t.Run("directory", func(t *testing.T) {
		fs, err := file.OpenFS(t.TempDir())
		require.NoError(t, err)
		defer fs.Close()
		test(t, fs)
	})
}

func TestModesOfFrames(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		anew(t, func(t *testing.T, fs storage.FS) { modesOfFrames(t, fs, sparse) })
	}
}

func modesOfFrames(t *testing.T, fs storage.FS, sparse bool) {
	ctx := t.Context()
	shape := blosc2.Shape{Shape: []int64{3}, DType: "|u1"}
	make := func(name string, spec blosc2.Spec, text string) error {
		spec.Sparse = sparse
		a, err := blosc2.CreateFrom(ctx, fs, name, shape, []byte(text), spec, writing)
		if err == nil {
			err = a.Close()
		}
		return err
	}
	holds := func(name, want string) {
		t.Helper()
		c, err := blosc2.Open(ctx, fs, name, blosc2.Options{})
		require.NoError(t, err)
		require.Equal(t, want, string(items(t, c.(*blosc2.NDArray))))
		require.NoError(t, c.Close())
	}
	require.NoError(t, make("a", blosc2.Spec{OrOpen: true}, "abc"))
	require.NoError(t, make("a", blosc2.Spec{OrOpen: true}, "def"))
	holds("a", "abc") // it was there: nothing is filled in
	require.ErrorIs(t, make("a", blosc2.Spec{}, "def"), fault.ErrExists)
	holds("a", "abc")
	require.NoError(t, make("a", blosc2.Spec{Replace: true}, "def"))
	holds("a", "def")
	torn := errors.New("torn")
	spec := blosc2.Spec{Replace: true, Fill: func(context.Context, blosc2.Container) error { return torn }}
	require.ErrorIs(t, make("a", spec, "ghi"), torn)
	holds("a", "def")
	names, err := fs.List(ctx, "")
	require.NoError(t, err)
	require.Len(t, names, 1, "nothing is left beside it: %v", names)

	// What is not ours stays.
	write(t, fs, "letter", "dear")
	require.NoError(t, fs.Mkdir(ctx, "drawer"))
	write(t, fs, "drawer/letter", "dear")
	for _, spec := range []blosc2.Spec{{}, {Replace: true}, {OrOpen: true}} {
		require.Error(t, make("letter", spec, "abc"))
		require.Error(t, make("drawer", spec, "abc"))
	}
	if sparse {
		write(t, fs, "a/letter", "dear")
		require.ErrorIs(t, make("a", blosc2.Spec{Replace: true}, "ghi"), fault.ErrExists)
		holds("a", "def")
	}
	_, err = blosc2.CreateSChunk(ctx, fs, "a", blosc2.Spec{OrOpen: true}, writing)
	require.ErrorIs(t, err, fault.ErrExists)
	for _, name := range []string{"letter", "drawer/letter"} {
		_, err := fs.Stat(ctx, name)
		require.NoError(t, err)
	}
}

func TestModesOfStores(t *testing.T) { anew(t, modesOfStores) }

func modesOfStores(t *testing.T, fs storage.FS) {
	ctx := t.Context()
	a, err := blosc2.CreateFrom(ctx, fs, "leaf", blosc2.Shape{Shape: []int64{3}, DType: "|u1"}, []byte("abc"), blosc2.Spec{Sparse: true}, writing)
	require.NoError(t, err)
	for _, tree := range []bool{false, true} {
		name := map[bool]string{false: "dict", true: "tree"}[tree]
		put := func(spec blosc2.StoreSpec, keys ...string) []string {
			t.Helper()
			spec.Tree = tree
			c, err := blosc2.CreateStore(ctx, fs, name, spec, writing)
			require.NoError(t, err)
			store := c.(interface {
				Put(context.Context, string, blosc2.Container) error
				Keys(context.Context) ([]string, error)
				Get(context.Context, string) (blosc2.Container, error)
			})
			for _, key := range keys {
				require.NoError(t, store.Put(ctx, key, a)) // sparse: it becomes contiguous
				got, err := store.Get(ctx, key)
				require.NoError(t, err)
				require.Equal(t, "abc", string(items(t, got.(*blosc2.NDArray))))
				require.NoError(t, got.Close())
			}
			all, err := store.Keys(ctx)
			require.NoError(t, err)
			require.NoError(t, c.Close())
			return all
		}
		require.Equal(t, []string{"/x"}, put(blosc2.StoreSpec{OrOpen: true}, "/x"))
		require.Equal(t, []string{"/x", "/y"}, put(blosc2.StoreSpec{OrOpen: true, Threshold: -1}, "/y"))
		_, err := blosc2.CreateStore(ctx, fs, name, blosc2.StoreSpec{Tree: tree}, writing)
		require.ErrorIs(t, err, fault.ErrExists)
		require.Equal(t, []string{"/z"}, put(blosc2.StoreSpec{Replace: true}, "/z"))
		for _, spec := range []blosc2.StoreSpec{{Tree: !tree, OrOpen: true}} {
			_, err = blosc2.CreateStore(ctx, fs, name, spec, writing)
			require.ErrorIs(t, err, fault.ErrExists)
		}
		write(t, fs, name+"/letter.txt", "dear")
		_, err = blosc2.CreateStore(ctx, fs, name, blosc2.StoreSpec{Tree: tree, Replace: true}, writing)
		require.ErrorIs(t, err, fault.ErrExists)
		require.Equal(t, []string{"/z"}, put(blosc2.StoreSpec{OrOpen: true}))
	}
	names, err := fs.List(ctx, "")
	require.NoError(t, err)
	require.Len(t, names, 3, names)
	for _, spec := range []blosc2.StoreSpec{{Replace: true}, {OrOpen: true}} {
		_, err = blosc2.CreateStore(ctx, fs, "leaf", spec, writing)
		require.ErrorIs(t, err, fault.ErrExists)
	}
}

func TestFramesInMemory(t *testing.T) {
	ctx, fs := t.Context(), openTestdata(t)
	for _, e := range manifest(t) {
		c, err := blosc2.Open(ctx, fs, e.File, blosc2.Options{})
		require.NoError(t, err)
		var want []byte
		switch c.(type) {
		case *blosc2.SChunk, *blosc2.NDArray:
			want, err = whole(t, c)
		default:
			_, err := blosc2.Bytes(ctx, c)
			require.ErrorIs(t, err, fault.ErrInvalid)
			require.NoError(t, c.Close())
			continue
		}
		b, bytesErr := blosc2.Bytes(ctx, c)
		require.NoError(t, bytesErr, e.File)
		again, openErr := blosc2.OpenBytes(ctx, b, e.File, blosc2.Options{})
		require.NoError(t, openErr, e.File)
		if err == nil {
			got, err := whole(t, again)
			require.NoError(t, err, e.File)
			require.Equal(t, sum(want), sum(got), e.File)
		}
		require.NoError(t, again.Close())
		require.NoError(t, c.Close())
	}
}

func TestB2ZHasTheNameOfItsStore(t *testing.T) {
	ctx, fs := t.Context(), storage.NewMemoryFS(0)
	for name, want := range map[string]string{"data.b2d": "data.b2z", "plain": "plain.b2z"} {
		c, err := blosc2.CreateStore(ctx, fs, name, blosc2.StoreSpec{}, writing)
		require.NoError(t, err)
		d := c.(*blosc2.DictStore)
		require.NoError(t, d.ToB2Z(ctx, fs, "", false))
		require.ErrorIs(t, d.ToB2Z(ctx, fs, "", false), fault.ErrExists)
		require.NoError(t, d.ToB2Z(ctx, fs, "", true))
		require.NoError(t, d.Close())
		c, err = blosc2.Open(ctx, fs, want, blosc2.Options{})
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
}
