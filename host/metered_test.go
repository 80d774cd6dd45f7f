package host_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/internal/golden"
)

// The largest module at hand, our own guest, gives right answers after the
// pass for plugins. It is interpreted, which takes less time than compiling it
// once more would.
func TestMeteredGuest(t *testing.T) {
	dir, err := golden.Zarr()
	require.NoError(t, err)
	m, err := golden.Load(dir)
	require.NoError(t, err)
	asked, arrays := 0, 0
	s, err := host.NewMetered(t.Context(), wazero.NewRuntimeConfigInterpreter(), func() { asked++ })
	require.NoError(t, err)
	defer s.Close()
	for i, n := range m.Nodes {
		if n.NodeType == "group" || i%20 > 0 || n.Bytes > 1<<16 {
			continue
		}
		arrays++
		a, err := s.OpenArray(t.Context(), loadDir(t, filepath.Join(dir, n.Path)), "", host.OpenOptions{})
		require.NoError(t, err, n.Name)
		whole, err := a.RetrieveRegion(t.Context(), make([]int64, len(n.Shape)), n.Shape, host.ReadOptions{})
		require.NoError(t, err, n.Name)
		require.Equal(t, n.SHA256, sum(whole), n.Name)
		require.NoError(t, a.Close())
	}
	require.Greater(t, arrays, 5)
	require.Greater(t, asked, 1000)
	t.Logf("%d arrays; asked for more %d times", arrays, asked)
}
