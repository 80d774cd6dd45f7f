package storage_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

func TestMemoryFS(t *testing.T) {
	storagetest.FS(t, func(t *testing.T) storage.FS { return storage.NewMemoryFS(0) })
}

func TestMemoryLocker(t *testing.T) {
	storagetest.Locker(t, func(t *testing.T) storage.Locker { return storage.NewMemoryLocker() })
}

func TestLockFile(t *testing.T) {
	storagetest.LockFile(t, func(t *testing.T) (storage.Locker, storage.FS, storage.Clock) {
		return storage.NewMemoryLocker(), storage.NewMemoryFS(0), runningClock{}
	})
}

type runningClock struct{}

func (runningClock) Now() time.Time { return time.Now() }

func (runningClock) Sleep(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
	if ctx.Err() == context.DeadlineExceeded {
		return nil
	}
	return ctx.Err()
}

// Space is counted, and comes back when nothing leads to a file any more.
func TestMemoryFSSpace(t *testing.T) {
	fs := storage.NewMemoryFS(1000)
	free := func() int64 {
		info, err := fs.StatFS(ctx, "")
		require.NoError(t, err)
		return info.Free
	}
	f, err := fs.Open(ctx, "f", storage.OpenWrite|storage.OpenCreate)
	require.NoError(t, err)
	_, err = f.WriteAt(make([]byte, 600), 0)
	require.NoError(t, err)
	require.EqualValues(t, 400, free())
	_, err = f.WriteAt(make([]byte, 401), 600)
	require.ErrorIs(t, err, fault.ErrNoSpace)
	require.ErrorIs(t, f.Truncate(1<<60), fault.ErrNoSpace)
	require.ErrorIs(t, f.Allocate(0, 1001), fault.ErrNoSpace)
	require.NoError(t, fs.Remove(ctx, "f"))
	require.EqualValues(t, 400, free())
	_, err = f.WriteAt([]byte("still"), 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.EqualValues(t, 1000, free())
}

func TestFileOf(t *testing.T) {
	m := storage.NewMemory()
	m.Set("k", data)
	f := storage.FileOf(ctx, m, "k")
	p := make([]byte, 20)
	n, err := f.ReadAt(p, 990)
	require.Equal(t, io.EOF, err)
	require.Equal(t, data[990:], p[:n])
	info, err := f.Stat()
	require.NoError(t, err)
	require.EqualValues(t, 1000, info.Size)

	m.Set("k", append(data, 1, 2, 3)) // it grows
	n, err = f.ReadAt(p, 999)
	require.Equal(t, io.EOF, err)
	require.Equal(t, []byte{data[999], 1, 2, 3}, p[:n])

	_, err = f.WriteAt(p, 0)
	require.ErrorIs(t, err, fault.ErrReadOnly)
	require.ErrorIs(t, f.Truncate(0), fault.ErrReadOnly)
	_, err = f.LockRange(0, storage.LockShared)
	require.ErrorIs(t, err, fault.ErrUnsupported)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	_, err = f.ReadAt(p, 0)
	require.ErrorIs(t, err, fault.ErrClosed)
	require.ErrorIs(t, f.Truncate(0), fault.ErrClosed)

	_, err = storage.FileOf(ctx, m, "absent").Stat()
	require.ErrorIs(t, err, fault.ErrNotFound)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = storage.FileOf(ended, m, "k").ReadAt(p, 0)
	require.ErrorIs(t, err, fault.ErrCancelled)
}
