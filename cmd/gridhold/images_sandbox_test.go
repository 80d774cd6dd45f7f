package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/golden"
)

// both runs a command with both engines, wants the same of them to the byte,
// and returns its status.
func both(t *testing.T, args ...string) int {
	t.Helper()
	status, out, said := here(t, args...)
	boxed, boxedOut, boxedSaid := here(t, append([]string{"--engine", "wasm"}, args...)...)
	require.Equal(t, status, boxed, "%v: %s", args, boxedSaid)
	require.Equal(t, out, boxedOut, "%v", args)
	require.Equal(t, said, boxedSaid, "%v", args)
	return status
}

// The sandbox says and writes what the machine does, of all images and tables.
func TestImagesInTheSandbox(t *testing.T) {
	dir, m, err := golden.LoadImages()
	require.NoError(t, err)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	for i, f := range m.Files {
		if i%13 != 0 { // the test of package host reads them all
			continue
		}
		name := filepath.Join(dir, f.File)
		if strings.HasPrefix(f.Expect, "error:") {
			require.Equal(t, 1, both(t, "info", name))
			both(t, "verify", "--json", name)
			continue
		}
		require.Zero(t, both(t, "info", "--json", name))
		require.Zero(t, both(t, "read", name))
		if i == 0 {
			require.Zero(t, both(t, "read", server.URL+"/"+f.File))
			require.Zero(t, both(t, "ls", "--json", name))
			require.Zero(t, both(t, "verify", name))
			require.Equal(t, 1, both(t, "read", "--image", "1000", name))
		}
	}
	for _, table := range m.Tables[3:] {
		name := filepath.Join(dir, table.File)
		require.Zero(t, both(t, "info", "--json", name))
		require.Zero(t, both(t, "ls", "--json", name))
		require.Zero(t, both(t, "ls", server.URL+"/"+table.File))
		require.Zero(t, both(t, "verify", name))
		require.Zero(t, both(t, "read", "--image", "80", name))
		require.Equal(t, 1, both(t, "read", "--image", "81", name))
	}
	odd := filepath.Join(dir, "odd_f32_5x17x13.mrcs")
	require.Zero(t, both(t, "read", "--region", "1:4,3:10,5:7", "--npy", odd))
	require.Equal(t, 2, both(t, "read", "--path", "x", odd))

	bad := filepath.Join(t.TempDir(), "p.star")
	require.NoError(t, os.WriteFile(bad, []byte("data_\nloop_\n_rlnImageName\n3@x\n0@x\n"), 0o666))
	for _, command := range []string{"info", "ls", "verify"} {
		require.Equal(t, 1, both(t, command, bad))
	}
}
