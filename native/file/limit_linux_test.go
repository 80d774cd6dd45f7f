package file

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/storage"
)

// TestTooManyOpen: where the process may open no more, the store gives half
// of what it keeps back, and reads on.
func TestTooManyOpen(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	for i := range 40 {
		write(t, filepath.Join(dir, strconv.Itoa(i)), []byte("x"))
	}
	s := open(t, dir, Options{})
	for i := range 20 {
		_, _, err := s.ReadRanges(ctx, strconv.Itoa(i), nil, "")
		require.NoError(t, err)
	}
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	low := before
	low.Cur = uint64(len(entries)) + 2
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low))
	defer func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before)) }()
	for i := range 40 {
		_, _, err := s.ReadRanges(ctx, strconv.Itoa(i), []storage.Range{storage.All}, "")
		require.NoError(t, err)
	}
	require.Less(t, s.cache.len(), 25)

	// So do listing and writing.
	fill := func() {
		for i := range 40 {
			s.ReadRanges(ctx, strconv.Itoa(i), nil, "")
		}
	}
	fill()
	names, err := s.List(ctx, "")
	require.NoError(t, err)
	require.Len(t, names, 40)
	fill()
	_, err = s.Put(ctx, "0", []byte("y"), storage.Condition{})
	require.NoError(t, err)
	fill()
	require.NoError(t, s.Delete(ctx, "1", storage.Condition{}))
}
