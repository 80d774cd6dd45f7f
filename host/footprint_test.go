package host_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/storage"
)

// A slice of 10 GB of zeros takes little memory in the sandbox.
func TestSliceOfHugeArrayInSandbox(t *testing.T) {
	ctx, fs := t.Context(), storage.NewMemoryFS(0)
	shape := blosc2.Shape{Shape: []int64{20_000, 62_500}, Chunks: []int64{200, 62_500}, Blocks: []int64{20, 62_500}, DType: "<f8"}
	a, err := blosc2.CreateArray(ctx, fs, "big.b2nd", shape, blosc2.Spec{}, blosc2.Options{})
	require.NoError(t, err)
	require.NoError(t, a.Close())
	s := newSandbox(t, host.Config{})
	c, err := s.OpenContainer(ctx, fs, "big.b2nd", host.ContainerOptions{})
	require.NoError(t, err)
	defer c.Close()
	b, err := c.Slice(ctx, []blosc2.Span{{Stop: 20_000, Step: 1999}, {Start: 5, Stop: 62_500, Step: 10_000}}, nil)
	require.NoError(t, err)
	require.Equal(t, make([]byte, 11*7*8), b)
	require.Less(t, s.MemorySize(), uint32(64<<20))
}

// What is in the compile cache is looked through without being read into
// memory: of a short run, that was most of it.
func TestCompileCacheTakesNoMemory(t *testing.T) {
	dir := t.TempDir()
	start := func() uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := host.New(t.Context(), host.Config{CompileCache: dir})
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		require.NoError(t, s.Close())
		return after.TotalAlloc - before.TotalAlloc
	}
	start() // compiles
	without := start()
	entries, err := filepath.Glob(filepath.Join(dir, "*", "*", "*.sha256"))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	const size = 96 << 20 // of the entry of another version
	other := filepath.Join(filepath.Dir(entries[0]), strings.Repeat("a5", sha256.Size))
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	require.NoError(t, os.Truncate(other, size))
	sum := sha256.New()
	for range size >> 20 {
		sum.Write(make([]byte, 1<<20))
	}
	require.NoError(t, os.WriteFile(other+".sha256", []byte(hex.EncodeToString(sum.Sum(nil))), 0o600))
	with := start()
	require.FileExists(t, other)
	require.Less(t, with, without+size/2)
}
