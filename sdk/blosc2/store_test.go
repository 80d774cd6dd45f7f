package blosc2_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// leafArray makes an array of count numbers, times ten.
func leafArray(t *testing.T, fs storage.FS, name string, count int) *blosc2.NDArray {
	t.Helper()
	a, err := blosc2.CreateArray(t.Context(), fs, name, blosc2.Shape{Shape: []int64{int64(count)}, DType: "|u1"}, blosc2.Spec{}, writing)
	require.NoError(t, err)
	require.NoError(t, a.SetSlice(t.Context(), nil, numbersOf(count)))
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

func numbersOf(count int) []byte {
	b := make([]byte, count)
	for i := range b {
		b[i] = byte(i * 10)
	}
	return b
}

func readKey(t *testing.T, c blosc2.Container, key string) ([]byte, error) {
	t.Helper()
	var leaf blosc2.Container
	var err error
	switch c := c.(type) {
	case *blosc2.EmbedStore:
		leaf, err = c.Get(t.Context(), key)
	case *blosc2.DictStore:
		leaf, err = c.Get(t.Context(), key)
	case *blosc2.TreeStore:
		leaf, err = c.Get(t.Context(), key)
	}
	if err != nil {
		return nil, err
	}
	defer leaf.Close()
	return whole(t, leaf)
}

func TestEmbedStoreWrites(t *testing.T) {
	ctx := t.Context()
	fs := storage.NewMemoryFS(0)
	e, err := blosc2.CreateEmbedStore(ctx, fs, "e.b2e", writing)
	require.NoError(t, err)
	for i, key := range []string{"/a", "/b/c", "/big"} {
		require.NoError(t, e.Put(ctx, key, leafArray(t, fs, "leaf"+key[1:2]+string(rune('0'+i)), 10+20_000*i)))
	}
	require.ErrorIs(t, e.Put(ctx, "/a", leafArray(t, fs, "again", 3)), fault.ErrExists)
	require.ErrorIs(t, e.Put(ctx, "a", leafArray(t, fs, "again2", 3)), fault.ErrInvalid)
	require.NoError(t, e.Delete(ctx, "/a"))
	require.ErrorIs(t, e.Delete(ctx, "/a"), fault.ErrNotFound)
	require.NoError(t, e.Put(ctx, "/a", leafArray(t, fs, "again3", 77)))
	got, err := readKey(t, e, "/a") // also while it is open for writing
	require.NoError(t, err)
	require.Equal(t, numbersOf(77), got)
	require.NoError(t, e.Close())
	c, err := blosc2.Open(ctx, fs, "e.b2e", blosc2.Options{})
	require.NoError(t, err)
	keys, err := c.(*blosc2.EmbedStore).Keys(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"/a", "/b/c", "/big"}, keys)
	for key, n := range map[string]int{"/a": 77, "/b/c": 20_010, "/big": 40_010} {
		got, err := readKey(t, c, key)
		require.NoError(t, err)
		require.Equal(t, string(numbersOf(n)), string(got))
	}
	require.NoError(t, c.Close())
}

func TestStoresWriteAndPack(t *testing.T) {
	ctx := t.Context()
	for name, spec := range map[string]blosc2.StoreSpec{
		"all files": {}, "some": {Threshold: 1000}, "none": {Threshold: -1}, "tree": {Tree: true, Threshold: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			fs := storage.NewMemoryFS(0)
			c, err := blosc2.CreateStore(ctx, fs, "s.b2d", spec, writing)
			require.NoError(t, err)
			put := func(key string, n int) error {
				a := leafArray(t, fs, "leaf"+string(rune('a'+len(key)))+string(rune('a'+n%26))+key[len(key)-1:], n)
				if tree, ok := c.(*blosc2.TreeStore); ok {
					return tree.Put(ctx, key, a)
				}
				return c.(*blosc2.DictStore).Put(ctx, key, a)
			}
			want := map[string]int{"/a": 10, "/b/c": 5000, "/b/d": 20, "/e/f/g": 9000}
			for key, n := range want {
				require.NoError(t, put(key, n))
			}
			require.NoError(t, put("/a", 3001)) // grows out of where it was
			require.NoError(t, put("/b/c", 7))  // and back
			want["/a"], want["/b/c"] = 3001, 7
			require.ErrorIs(t, put("/../x", 1), fault.ErrInvalid)
			d, ok := c.(*blosc2.DictStore)
			if tree, isTree := c.(*blosc2.TreeStore); isTree {
				require.ErrorIs(t, put("/b", 1), fault.ErrInvalid)
				require.ErrorIs(t, put("/a/x", 1), fault.ErrInvalid)
				d, ok = tree.DictStore(), true
			}
			require.True(t, ok)
			require.NoError(t, d.Delete(ctx, "/b/d"))
			require.ErrorIs(t, d.Delete(ctx, "/b/d"), fault.ErrNotFound)
			delete(want, "/b/d")
			require.NoError(t, d.ToB2Z(ctx, fs, "s.b2z", false))
			require.ErrorIs(t, d.ToB2Z(ctx, fs, "s.b2z", false), fault.ErrExists)
			require.NoError(t, d.ToB2Z(ctx, fs, "s.b2z", true))
			require.NoError(t, c.Close())
			for _, store := range []string{"s.b2d", "s.b2z"} {
				c, err := blosc2.Open(ctx, fs, store, blosc2.Options{})
				require.NoError(t, err)
				for key, n := range want {
					got, err := readKey(t, c, key)
					require.NoError(t, err)
					require.Equal(t, string(numbersOf(n)), string(got), key)
				}
				_, err = readKey(t, c, "/b/d")
				require.ErrorIs(t, err, fault.ErrNotFound)
				_, err = blosc2.Verify(ctx, c, func(d blosc2.Damage) { t.Error(d) })
				require.NoError(t, err)
				require.NoError(t, c.Close())
			}
			_, err = blosc2.Open(ctx, fs, "s.b2z", writing)
			require.ErrorIs(t, err, fault.ErrReadOnly)
			_, err = blosc2.CreateStore(ctx, fs, "s.b2d", spec, writing)
			require.ErrorIs(t, err, fault.ErrExists)
		})
	}
	fs := files(t, map[string][]byte{"note": []byte("somebody's")})
	c, err := blosc2.CreateStore(ctx, fs, "s", blosc2.StoreSpec{}, writing)
	require.NoError(t, err)
	require.ErrorIs(t, c.(*blosc2.DictStore).ToB2Z(ctx, fs, "note", true), fault.ErrExists)
	require.NoError(t, c.Close())
}

// A key that is several files, as older versions of python-blosc2 may leave it,
// is gone when it is deleted.
func TestDeleteAllFilesOfAKey(t *testing.T) {
	fs := storage.NewMemoryFS(1 << 20)
	c, err := blosc2.CreateStore(t.Context(), fs, "s.b2d", blosc2.StoreSpec{}, blosc2.Options{})
	require.NoError(t, err)
	d := c.(*blosc2.DictStore)
	for _, ext := range []string{".b2nd", ".b2f", ".frame"} {
		s, err := blosc2.CreateSChunk(t.Context(), fs, "s.b2d/a"+ext, blosc2.Spec{}, blosc2.Options{})
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
	require.NoError(t, d.Delete(t.Context(), "/a"))
	_, err = d.Get(t.Context(), "/a")
	require.ErrorIs(t, err, fault.ErrNotFound)
	keys, err := d.Keys(t.Context())
	require.NoError(t, err)
	require.Empty(t, keys)
	require.NoError(t, d.Close())
}

// Metadata of nodes are set one by one, whatever a node has; and a node that
// has nothing else is one.
func TestTreeMetadata(t *testing.T) {
	ctx := t.Context()
	for name, threshold := range map[string]int64{"files": 0, "embedded": -1} {
		t.Run(name, func(t *testing.T) {
			fs := storage.NewMemoryFS(0)
			c, err := blosc2.CreateStore(ctx, fs, "t.b2d", blosc2.StoreSpec{Tree: true, Threshold: threshold}, writing)
			require.NoError(t, err)
			tree := c.(*blosc2.TreeStore)
			require.NoError(t, tree.Put(ctx, "/a/leaf", leafArray(t, fs, "leaf", 10)))
			for i, node := range []string{"/", "/a", "/only/metadata", "/a"} {
				require.NoError(t, tree.SetVLObject(ctx, node, "n", int64(i)))
			}
			before, err := tree.VLMeta(ctx, "/a")
			require.NoError(t, err)
			require.NoError(t, tree.SetVLObject(ctx, "/a", "more", "x"))
			value := func(s *blosc2.SChunk, name string) any {
				v, err := s.VLObject(ctx, name)
				require.NoError(t, err)
				return v
			}
			_, err = before.VLObject(ctx, "more")
			require.ErrorIs(t, err, fault.ErrNotFound)
			require.Equal(t, int64(3), value(before, "n"))
			require.NoError(t, before.Close())

			require.ErrorIs(t, tree.SetVLObject(ctx, "/a/leaf", "n", int64(1)), fault.ErrInvalid)
			require.ErrorIs(t, tree.SetVLObject(ctx, "/..", "n", int64(1)), fault.ErrInvalid)
			require.ErrorIs(t, tree.SetVLValue(ctx, "/a", "", nil), fault.ErrInvalid)
			require.ErrorIs(t, tree.DeleteVL(ctx, "/a", "none"), fault.ErrNotFound)
			require.NoError(t, tree.DeleteVL(ctx, "/a", "n"))
			keys, err := tree.Keys(ctx)
			require.NoError(t, err)
			require.Equal(t, []string{"/a", "/a/leaf", "/only", "/only/metadata"}, keys)
			require.NoError(t, tree.Close())

			c, err = blosc2.Open(ctx, fs, "t.b2d", blosc2.Options{})
			require.NoError(t, err)
			tree = c.(*blosc2.TreeStore)
			require.ErrorIs(t, tree.SetVLObject(ctx, "/a", "n", int64(1)), fault.ErrReadOnly)
			for node, want := range map[string]map[string]any{"/": {"n": int64(0)}, "/a": {"more": "x"}, "/only/metadata": {"n": int64(2)}} {
				s, err := tree.VLMeta(ctx, node)
				require.NoError(t, err)
				names, err := s.VLMeta(ctx)
				require.NoError(t, err)
				require.Len(t, names, len(want), node)
				for name := range want {
					require.Equal(t, want[name], value(s, name), node)
				}
				require.NoError(t, s.Close())
			}
			require.NoError(t, tree.Close())
		})
	}
}
