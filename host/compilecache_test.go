package host_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/sdk/storage"
)

// tiny is an array whose only chunk is missing.
func tiny() *storage.Memory {
	m := storage.NewMemory()
	m.Set("zarr.json", []byte(`{"zarr_format":3,"node_type":"array","shape":[2],"data_type":"uint8","fill_value":7,
"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes"}]}`))
	return m
}

// useCache makes a sandbox over a compile cache and reads something.
func useCache(dir string) error {
	ctx := context.Background()
	s, err := host.New(ctx, host.Config{CompileCache: dir})
	if err != nil {
		return err
	}
	defer s.Close()
	a, err := s.OpenArray(ctx, tiny(), "", host.OpenOptions{})
	if err != nil {
		return err
	}
	b, err := a.RetrieveSubchunk(ctx, []int64{0}, host.ReadOptions{})
	if err != nil || string(b) != "\x07\x07" {
		return fmt.Errorf("read %x, %v", b, err)
	}
	return nil
}

// child is what the test binary does when it runs itself.
func child() int {
	if err := useCache(os.Getenv("GRIDHOLD_HOST_CHILD")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// entries are the compiled guests in a cache.
func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", "*", "*"))
	require.NoError(t, err)
	for _, name := range found {
		require.NotContains(t, name, ".tmp", "nothing unfinished is left")
		if !strings.HasSuffix(name, ".sha256") {
			names = append(names, name)
		}
	}
	return names
}

// TestCompileCacheOfManyProcesses starts eight at once on an empty cache.
func TestCompileCacheOfManyProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "cache")
	self, err := os.Executable()
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), "GRIDHOLD_HOST_CHILD="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	require.NotEmpty(t, entries(t, dir))
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o022, "only the user can write it")
}

// TestCompileCacheThatIsDamaged has entries of each kind of damage: none gets
// to run, and what is missing is made anew.
func TestCompileCacheThatIsDamaged(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, useCache(dir))
	names := entries(t, dir)
	require.Len(t, names, 1)
	own := filepath.Dir(filepath.Dir(names[0]))
	good, err := os.ReadFile(names[0])
	require.NoError(t, err)
	flipped := append([]byte(nil), good...)
	flipped[40] ^= 255 // in the table of offsets, which no checksum of wazero's covers
	seal := names[0] + ".sha256"
	for name, b := range map[string][]byte{
		"cut": good[:len(good)/2], "garbage": []byte("no code at all"), "empty": nil, "flipped": flipped,
		"foreign": append([]byte("WAZEVO\x05other"), good[11:]...),
	} {
		require.NoError(t, os.WriteFile(names[0], b, 0o600))
		require.NoError(t, host.PrepareCache(own), name)
		require.NoFileExists(t, names[0], name)
	}
	require.NoError(t, os.WriteFile(names[0], good, 0o600))
	require.NoError(t, host.PrepareCache(own))
	require.FileExists(t, names[0])
	require.NoError(t, os.Remove(seal))
	require.NoError(t, host.PrepareCache(own))
	require.NoFileExists(t, names[0], "no seal")

	// What wazero itself refuses, although it is sealed, is made anew.
	require.NoError(t, os.WriteFile(names[0], good[:len(good)/2], 0o600))
	sum := sha256.Sum256(good[:len(good)/2])
	require.NoError(t, os.WriteFile(seal, []byte(hex.EncodeToString(sum[:])), 0o600))
	require.NoError(t, useCache(dir))
	mended, err := os.ReadFile(names[0])
	require.NoError(t, err)
	require.Equal(t, len(good), len(mended))
	require.FileExists(t, seal)
}

func TestCompileCacheThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(name, nil, 0o600))
	require.NoError(t, useCache(filepath.Join(name, "below")), "below a file")
	if os.Getuid() != 0 { // to whom every directory can be written
		require.NoError(t, os.Chmod(dir, 0o500))
		require.NoError(t, useCache(filepath.Join(dir, "cache")), "read only")
	}
}
