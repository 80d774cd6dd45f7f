package host_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/internal/golden"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// TestGolden reads the peers' arrays in the sandbox, with and without codecs
// lent, and natively, and wants the same from all.
func TestGolden(t *testing.T) {
	dir, err := golden.Zarr()
	require.NoError(t, err)
	m, err := golden.Load(dir)
	require.NoError(t, err)
	lent, strict := newSandbox(t, host.Config{}), newSandbox(t, host.Config{Strict: true})
	arrays := 0
	for _, n := range m.Nodes {
		if n.NodeType == "group" {
			continue
		}
		arrays++
		t.Run(n.Name, func(t *testing.T) {
			st := loadDir(t, filepath.Join(dir, n.Path))
			native, err := zarr.OpenArray(t.Context(), st, "", zarr.Options{})
			require.NoError(t, err)
			for _, s := range []*host.Sandbox{lent, strict} {
				a, err := s.OpenArray(t.Context(), st, "", host.OpenOptions{})
				require.NoError(t, err)
				whole, err := a.RetrieveRegion(t.Context(), make([]int64, len(n.Shape)), n.Shape, host.ReadOptions{})
				require.NoError(t, err)
				require.Equal(t, n.SHA256, sum(whole))
				samples(t, a, native, n)
				require.NoError(t, a.Close())
			}
		})
	}
	require.GreaterOrEqual(t, arrays, 100)
}

func samples(t *testing.T, a *host.Array, native *zarr.Array, n golden.Node) {
	if n.Shards == nil {
		return
	}
	cache := a.ShardCache(host.CacheOptions{})
	require.Equal(t, n.Subchunk, a.SubchunkShape())
	require.Equal(t, n.Shards.SubchunkGrid, a.SubchunkGridShape())
	require.Equal(t, n.Exclusive, a.IsExclusivelySharded())
	for _, s := range n.Shards.Some {
		got, err := a.RetrieveSubchunk(t.Context(), s.Subchunk, host.ReadOptions{Cache: cache})
		require.NoError(t, err)
		want, err := native.RetrieveSubchunk(t.Context(), s.Subchunk, zarr.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, want, got)
		if !n.Exclusive {
			continue
		}
		enc, err := a.RetrieveEncodedSubchunk(t.Context(), s.Subchunk, host.ReadOptions{Cache: cache})
		require.NoError(t, err)
		l, ok, err := a.Locate(t.Context(), s.Subchunk, host.ReadOptions{Cache: cache})
		require.NoError(t, err)
		require.Equal(t, !s.Empty, ok)
		if s.Empty {
			require.Nil(t, enc)
			continue
		}
		require.Equal(t, s.EncodedSHA256, sum(enc))
		require.Equal(t, []any{s.Key, s.Off, s.Len}, []any{l.Key, l.Off, l.Len})
		dec, err := a.DecodeSubchunk(t.Context(), enc, nil)
		require.NoError(t, err)
		require.Equal(t, got, dec)
	}
}
