//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/golden"
)

// A row that names a pipe, or a file that may not be read, is told by name;
// nobody waits, and the other rows can be read.
func TestTableNamesAPipe(t *testing.T) {
	dir, _, err := golden.LoadImages()
	require.NoError(t, err)
	project := t.TempDir()
	b, err := os.ReadFile(filepath.Join(dir, "stack_named.mrc"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(project, "a.mrcs"), b, 0o666))
	require.NoError(t, syscall.Mkfifo(filepath.Join(project, "pipe.mrcs"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(project, "locked.mrcs"), b, 0))
	table := filepath.Join(project, "p.star")
	require.NoError(t, os.WriteFile(table, []byte("data_\nloop_\n_rlnImageName\n1@pipe.mrcs\n2@a.mrcs\n1@locked.mrcs\n"), 0o666))
	status, text, errs := here(t, "verify", table)
	require.Equal(t, 3, status, errs)
	require.Contains(t, string(text), "pipe.mrcs: ")
	require.Contains(t, string(text), "not a regular file")
	if os.Getuid() != 0 {
		require.Contains(t, string(text), "locked.mrcs: ")
	}
	status, pixels, errs := here(t, "read", "--image", "1", table)
	require.Equal(t, 0, status, errs)
	require.Equal(t, b[1024+256:][:256], pixels)
	status, _, errs = here(t, "read", "--image", "0", table)
	require.Equal(t, 1, status)
	require.Contains(t, errs, "pipe.mrcs")
}
