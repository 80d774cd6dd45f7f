//go:build unix

package scratch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/storage"
)

// deskFS is a directory of the system, where files have locks.
func deskFS(t testing.TB) (dir string, fs storage.FS) {
	dir = t.TempDir()
	f, err := file.OpenFS(dir)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return dir, f
}
