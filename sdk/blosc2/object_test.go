package blosc2_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/web"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Every container of testdata is read from a server of files, which lists
// nothing.
func TestContainersOfAServer(t *testing.T) {
	var requests atomic.Int64
	files := http.FileServer(http.Dir(testdata))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if strings.HasSuffix(r.URL.Path, "/") {
			http.Error(w, "no lists here", http.StatusForbidden)
			return
		}
		files.ServeHTTP(w, r)
	}))
	defer srv.Close()
	f := web.New(web.Options{})
	defer f.Close()
	s := storage.NewHTTP(f, srv.URL, storage.HTTPOptions{})
	ctx := t.Context()
	seen := map[string]int{}
	for i, e := range manifest(t) {
		sparse := strings.HasPrefix(e.File, "sparse/")
		if i%4 != 0 && !sparse && e.Keys == nil {
			continue
		}
		c, err := blosc2.OpenObject(ctx, s, e.File, blosc2.Options{})
		require.NoError(t, err, e.File)
		seen[c.Kind()]++
		store, isStore := c.(interface {
			Get(context.Context, string) (blosc2.Container, error)
			Keys(context.Context) ([]string, error)
		})
		if !isStore {
			b, err := whole(t, c)
			if err == nil && e.SHA256 != "" {
				require.Equal(t, e.SHA256, sum(b), e.File)
			}
			require.NoError(t, c.Close())
			continue
		}
		keys, err := store.Keys(ctx)
		if err != nil {
			require.ErrorIs(t, err, errors.ErrUnsupported, e.File)
			require.NotContains(t, e.File, ".b2z")
		} else {
			require.Len(t, keys, len(e.Keys))
		}
		for key, k := range e.Keys {
			if k.Type == "TreeStore" {
				continue
			}
			leaf, err := store.Get(ctx, key)
			require.NoError(t, err, "%s %s", e.File, key)
			b, err := whole(t, leaf)
			require.NoError(t, err)
			require.Equal(t, k.SHA256, sum(b), e.File)
			require.NoError(t, leaf.Close())
		}
		_, err = store.Get(ctx, "/none")
		require.ErrorIs(t, err, fault.ErrNotFound, e.File)
		require.NoError(t, c.Close())
	}
	require.Greater(t, seen["dictstore"], 1)
	require.Greater(t, seen["treestore"], 1)

	// A chunk of a sparse frame is one request more than none.
	c, err := blosc2.OpenObject(ctx, s, "sparse/nd", blosc2.Options{})
	require.NoError(t, err)
	chunks := c.(*blosc2.NDArray).SChunk()
	before := requests.Load()
	_, err = chunks.VLMeta(ctx) // the looks at the frame, alone
	require.NoError(t, err)
	looks := requests.Load() - before
	before += looks
	_, err = chunks.Chunk(ctx, 0, nil)
	require.NoError(t, err)
	require.LessOrEqual(t, requests.Load()-before, looks+1)
	require.NoError(t, c.Close())

	for _, o := range []blosc2.Options{{Write: true}, {Map: true}, {Locking: blosc2.Locked}} {
		_, err := blosc2.OpenObject(ctx, s, "ndim/2d.b2nd", o)
		require.ErrorIs(t, err, fault.ErrInvalid)
	}
	for _, name := range []string{"none", "ndim"} {
		_, err := blosc2.OpenObject(ctx, s, name, blosc2.Options{})
		require.Error(t, err)
		require.NotErrorIs(t, err, fault.ErrInternal)
	}
}

// changing is a store of one object, which is replaced by the next of its
// states before each request.
type changing struct {
	states [][]byte
	asked  int
}

func (c *changing) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	m := storage.NewMemory()
	m.Set(key, c.states[min(c.asked, len(c.states)-1)])
	c.asked++
	return m.ReadRanges(ctx, key, rs, want)
}

// An object that changes from request to request, as one that grows does, is
// followed: by Refresh, and when what is read of it belongs to no state.
func TestObjectThatChanges(t *testing.T) {
	ctx, fs := t.Context(), storage.NewMemoryFS(0)
	a, err := blosc2.CreateArray(ctx, fs, "a", blosc2.Shape{Shape: []int64{0, 10}, Chunks: []int64{3, 10}, DType: "<i4"}, blosc2.Spec{}, writing)
	require.NoError(t, err)
	var grown, rewritten [][]byte
	for i := range 40 {
		require.NoError(t, a.Append(ctx, 0, counted(10 * (i + 1))[40*i:]))
		b, err := readFile(ctx, fs, "a")
		require.NoError(t, err)
		grown = append(grown, b)
		if b, err = blosc2.Bytes(ctx, a); i%2 == 0 { // nothing is where it was
			require.NoError(t, err)
			rewritten = append(rewritten, b)
		}
	}
	require.NoError(t, a.Close())
	all := counted(400)
	for name, states := range map[string][][]byte{"grows": grown, "is rewritten": rewritten} {
		t.Run(name, func(t *testing.T) {
			s := &changing{states: states[:1]}
			c, err := blosc2.OpenObject(ctx, s, "a", blosc2.Options{})
			require.NoError(t, err)
			b := c.(*blosc2.NDArray)
			s.asked, s.states = 0, states
			for s.asked < len(states) {
				before := b.Shape().Shape[0]
				_, err := b.Refresh(ctx)
				require.NoError(t, err)
				n := b.Shape().Shape[0]
				require.GreaterOrEqual(t, n, before)
				got, err := b.Slice(ctx, []blosc2.Span{{Stop: n}, {Stop: 10}}, nil)
				require.NoError(t, err)
				require.Equal(t, all[:40*n], got)
			}
			_, err = b.Refresh(ctx)
			require.NoError(t, err)
			got, err := b.Slice(ctx, nil, nil)
			require.NoError(t, err)
			require.True(t, bytes.Equal(all[:len(got)], got))
			require.NoError(t, b.Close())
		})
	}
}

func readFile(ctx context.Context, fs storage.FS, name string) ([]byte, error) {
	f, err := fs.Open(ctx, name, storage.OpenRead)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, info.Size)
	_, err = f.ReadAt(b, 0)
	return b, err
}
