//go:build unix

package file

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

func keep(t *testing.T, l *Locker, name string) storage.LockFile {
	t.Helper()
	f, err := l.KeepLock(t.Context(), name)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func ask(m storage.LockMode, timeout time.Duration) storage.LockRequest {
	return storage.LockRequest{Owner: storage.NewOwner(), Mode: m, Timeout: timeout}
}

// Report 57: what the file system answers to a lock. An interrupted call is
// made again; one that it does not know is an error that says what to do.
func TestLockFailures(t *testing.T) {
	for _, errno := range []error{syscall.ENOLCK, syscall.ENOSYS, syscall.EOPNOTSUPP} {
		for _, m := range []storage.LockMode{storage.LockShared, storage.LockExclusive} {
			l := NewLocker(openFS(t, t.TempDir()))
			l.flock = func(*os.File, bool, bool) (bool, error) { return false, errno }
			_, err := keep(t, l, "l").Lock(t.Context(), ask(m, 0))
			require.ErrorIs(t, err, fault.ErrUnsupported)
			require.ErrorContains(t, err, errno.Error())
			require.ErrorContains(t, err, "open without locking")
		}
	}
	calls := 0
	require.NoError(t, retryInterrupted(func() error {
		if calls++; calls < 3 {
			return syscall.EINTR
		}
		return nil
	}))
}

// Reports 51 and 58: a lock file that may only be read is locked shared; where
// there is none, and none can be made, the error says so. Nothing is made.
func TestLockReadOnly(t *testing.T) {
	if os.Getuid() == 0 { // who may write everywhere
		asNobody(t)
		return
	}
	dir := t.TempDir()
	lock := filepath.Join(dir, "c.b2lock")
	require.NoError(t, os.WriteFile(lock, make([]byte, 16), 0o444))
	require.NoError(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	before, err := os.Stat(lock)
	require.NoError(t, err)
	l := NewLocker(openFS(t, dir))
	f := keep(t, l, "c.b2lock")
	h, err := f.Lock(t.Context(), ask(storage.LockShared, 0))
	require.NoError(t, err)
	var b [8]byte
	_, err = h.ReadAt(b[:], 8)
	require.NoError(t, err)
	require.NoError(t, h.Unlock())
	_, err = f.Lock(t.Context(), ask(storage.LockExclusive, 0))
	require.ErrorIs(t, err, fault.ErrReadOnly)
	_, err = keep(t, l, "d.b2lock").Lock(t.Context(), ask(storage.LockShared, 0))
	require.ErrorIs(t, err, fault.ErrReadOnly)
	require.ErrorContains(t, err, "open without locking")
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, names, 1)
	after, err := os.Stat(lock)
	require.NoError(t, err)
	require.Equal(t, before.ModTime(), after.ModTime())
}

// asNobody runs the test again as a user without rights.
func asNobody(t *testing.T) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	own := filepath.Join(t.TempDir(), "test")
	b, err := os.ReadFile(exe)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(own, b, 0o755))
	for dir := filepath.Dir(own); dir != os.TempDir() && len(dir) > 1; dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o777))
	}
	cmd := exec.Command(own, "-test.run=^"+t.Name()+"$")
	cmd.Dir = filepath.Dir(own)
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Dir(own))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// Report 59: the lock file follows the umask, which nobody touches.
func TestLockUmask(t *testing.T) {
	for _, mask := range []int{0o022, 0o002, 0o077} {
		dir := t.TempDir()
		old := syscall.Umask(mask)
		l := NewLocker(openFS(t, dir))
		var wg sync.WaitGroup
		wg.Go(func() { os.WriteFile(filepath.Join(dir, "other"), nil, 0o666) })
		h, err := keep(t, l, "l").Lock(t.Context(), ask(storage.LockExclusive, 0))
		wg.Wait()
		syscall.Umask(old)
		require.NoError(t, err)
		require.NoError(t, h.Unlock())
		for _, name := range []string{"l", "other"} {
			info, err := os.Stat(filepath.Join(dir, name))
			require.NoError(t, err)
			require.EqualValues(t, 0o666&^mask, info.Mode().Perm(), name)
		}
	}
}

// Report 63: waits end with their timeout or context, also those that the
// system does not let us end; afterwards the lock works as before.
func TestLockWaitsEnd(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	holder, err := os.OpenFile(filepath.Join(dir, "l"), os.O_CREATE|os.O_RDWR, 0o666)
	require.NoError(t, err)
	defer holder.Close()
	held, err := flock(holder, true, false)
	require.NoError(t, err)
	require.True(t, held)
	f := keep(t, NewLocker(openFS(t, dir)), "l")
	var wg sync.WaitGroup
	for i := range 2 * mostLeftBehind {
		wg.Go(func() {
			m := storage.LockShared
			if i%3 == 0 {
				m = storage.LockExclusive
			}
			_, err := f.Lock(ctx, ask(m, 200*time.Millisecond))
			if fault.CodeOf(err) != fault.CodeLockTimeout {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = f.Lock(cancelled, ask(storage.LockShared, 0))
	require.ErrorIs(t, err, fault.ErrCancelled)
	require.NoError(t, unflock(holder))
	for _, m := range []storage.LockMode{storage.LockShared, storage.LockExclusive} {
		h, err := f.Lock(ctx, ask(m, 2*time.Minute))
		require.NoError(t, err)
		require.NoError(t, h.Unlock())
	}
}

// Readers of one open lock file do not take turns for ever: those who come
// late wait until the others are gone. One who is among them already does not,
// or both would wait for each other.
func TestLockSharedAgain(t *testing.T) {
	l := NewLocker(openFS(t, t.TempDir()))
	kept := keep(t, l, "l")
	first, late := ask(storage.LockShared, 0), ask(storage.LockShared, 0)
	outer, err := kept.Lock(t.Context(), first)
	require.NoError(t, err)
	o := kept.(*lockFile).now.Load()
	o.mu.Lock()
	o.since -= turnover // as if it had been so for long
	o.mu.Unlock()
	got := make(chan error, 1)
	go func() {
		h, err := kept.Lock(t.Context(), late)
		if err == nil {
			err = h.Unlock()
		}
		got <- err
	}()
	for waits := false; !waits; runtime.Gosched() {
		o.mu.Lock()
		waits = o.drained != nil
		o.mu.Unlock()
	}
	inner, err := kept.Lock(t.Context(), first)
	require.NoError(t, err)
	require.NoError(t, inner.Unlock())
	require.Empty(t, got)
	require.NoError(t, outer.Unlock())
	require.NoError(t, <-got)
}
