package blosc2_test

import (
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
