//go:build linux

package file

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

// Tests named after reports of faults in other libraries.

// Report 13: a write that finds no room in its middle is an error; the old
// object stays, and nothing is left beside it.
func TestReport13NoRoom(t *testing.T) {
	if os.Getenv("GRIDHOLD_TEST_SMALL_FILES") == "" {
		c := exec.Command(os.Args[0], "-test.run=^TestReport13NoRoom$")
		c.Env = append(os.Environ(), "GRIDHOLD_TEST_SMALL_FILES=1")
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	dir := t.TempDir()
	s := open(t, dir, Options{})
	old := storagetest.Pattern(50_000, 1)
	_, err := s.Put(t.Context(), "d/k", old, storage.Condition{})
	require.NoError(t, err)
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	small := limit
	small.Cur = 60_000
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small))
	large := storagetest.Pattern(200_000, 2)
	for _, key := range []string{"d/k", "d/new", "e/new"} {
		_, err = s.Put(t.Context(), key, large, storage.Condition{})
		require.ErrorIs(t, err, fault.ErrNoSpace)
		require.ErrorContains(t, err, key)
	}
	b, _, err := storage.ReadAll(t.Context(), s, "d/k", 1<<20)
	require.NoError(t, err)
	require.Equal(t, old, b)
	_, _, err = storage.ReadAll(t.Context(), s, "e/new", 1<<20)
	require.ErrorIs(t, err, fault.ErrNotFound)
	entries, err := os.ReadDir(filepath.Join(dir, "d"))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	entries, err = os.ReadDir(filepath.Join(dir, "e"))
	require.NoError(t, err)
	require.Empty(t, entries)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	_, err = s.Put(t.Context(), "d/k", large, storage.Condition{})
	require.NoError(t, err)
}

// Report 58: a server of files that wants a descriptor open for writing for an
// exclusive lock, and one open for reading for a shared one.
func TestReport58FlagsOfTheDescriptor(t *testing.T) {
	dir := t.TempDir()
	l := NewLocker(openFS(t, dir))
	asked := 0
	l.flock = func(f *os.File, exclusive, wait bool) (bool, error) {
		asked++
		flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
		if err != nil {
			return false, err
		}
		mode := flags & unix.O_ACCMODE
		if exclusive && mode == unix.O_RDONLY || !exclusive && mode == unix.O_WRONLY {
			return false, unix.EBADF
		}
		return flock(f, exclusive, wait)
	}
	f := keep(t, l, "l")
	for _, m := range []storage.LockMode{storage.LockShared, storage.LockExclusive, storage.LockShared, storage.LockExclusive} {
		h, err := f.Lock(t.Context(), ask(m, 0))
		require.NoError(t, err)
		require.NoError(t, h.Unlock())
	}
	require.GreaterOrEqual(t, asked, 4)
	// One that fails all the same is an error, not a lock.
	l.flock = func(*os.File, bool, bool) (bool, error) { return false, unix.EBADF }
	for _, m := range []storage.LockMode{storage.LockShared, storage.LockExclusive} {
		_, err := keep(t, l, "l").Lock(t.Context(), ask(m, 0))
		require.Error(t, err)
		require.ErrorContains(t, err, "bad file descriptor")
	}
}

// Report 59: in a directory that hands down its group, the lock file is of
// that group, who may lock it where the umask lets them write.
func TestReport59GroupOfTheDirectory(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: the group of a lock file; only root may give a directory to any group")
	}
	const group = 54321
	dir := t.TempDir()
	require.NoError(t, os.Chown(dir, -1, group))
	require.NoError(t, os.Chmod(dir, 0o775|os.ModeSetgid))
	old := syscall.Umask(0o002)
	h, err := keep(t, NewLocker(openFS(t, dir)), "l").Lock(t.Context(), ask(storage.LockExclusive, 0))
	syscall.Umask(old)
	require.NoError(t, err)
	require.NoError(t, h.Unlock())
	info, err := os.Stat(filepath.Join(dir, "l"))
	require.NoError(t, err)
	require.EqualValues(t, 0o664, info.Mode().Perm())
	require.EqualValues(t, group, info.Sys().(*syscall.Stat_t).Gid)
}

// Report 59: a container that was opened to its group by hand, before its lock
// was made or afterwards. Who may write it may lock it; where the file of the
// lock is not ours to change, nothing fails.
func TestReport59ContainerOpenedByHand(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: who may lock; only root may be others")
	}
	const group, member, stranger = 54321, 12345, 12346
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	fs := openFS(t, dir)
	rights := func(name string) (os.FileMode, uint32) {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		return info.Mode().Perm(), info.Sys().(*syscall.Stat_t).Gid
	}
	lock := func(name string) error {
		f, err := NewLocker(fs).KeepLock(t.Context(), name)
		if err != nil {
			return err
		}
		defer f.Close()
		h, err := f.Lock(t.Context(), ask(storage.LockExclusive, 0))
		if err != nil {
			return err
		}
		return h.Unlock()
	}
	// as is what f does as another user, for files alone: on a thread that
	// ends with it.
	as := func(uid, gid int, f func() error) error {
		got := make(chan error)
		go func() {
			runtime.LockOSThread()
			if err := errors.Join(unix.Setfsgid(gid), unix.Setfsuid(uid)); err != nil {
				got <- err
				return
			}
			got <- f()
		}()
		return <-got
	}
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	for _, name := range []string{"f", "d/"} {
		container, file := strings.TrimSuffix(name, "/"), name+".b2lock"
		if name == "f" {
			write(t, filepath.Join(dir, name), nil)
		} else {
			require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		}
		require.NoError(t, lock(file))
		mode, gid := rights(file)
		require.EqualValues(t, 0o644, mode)
		require.Zero(t, gid)
		require.ErrorIs(t, as(member, group, func() error { return lock(file) }), fault.ErrReadOnly)

		// By hand, and then its owner locks again.
		require.NoError(t, os.Chown(filepath.Join(dir, container), -1, group))
		require.NoError(t, os.Chmod(filepath.Join(dir, container), 0o775))
		require.NoError(t, lock(file))
		mode, gid = rights(file)
		require.EqualValues(t, 0o664, mode&^0o111, "%v", mode)
		require.EqualValues(t, group, gid)
		require.NoError(t, as(member, group, func() error { return lock(file) }))
		require.ErrorIs(t, as(stranger, stranger, func() error { return lock(file) }), fault.ErrReadOnly)

		// Made anew by a member, under a umask that keeps others out.
		if name == "f" {
			require.NoError(t, os.Remove(filepath.Join(dir, file)))
			syscall.Umask(0o077)
			require.NoError(t, as(member, group, func() error { return lock(file) }))
			syscall.Umask(0o022)
			mode, gid = rights(file)
			require.EqualValues(t, 0o664, mode)
			require.EqualValues(t, group, gid)
			// Which is not ours to open further: no harm.
			require.NoError(t, os.Chown(filepath.Join(dir, file), 0, group))
			require.NoError(t, os.Chmod(filepath.Join(dir, container), 0o666))
			require.NoError(t, as(member, group, func() error { return lock(file) }))
			mode, _ = rights(file)
			require.EqualValues(t, 0o664, mode)
		}
	}
}

// Report 29: a file that is replaced by another of its size, as fast as that
// can be, and with the times of the old one put back.
func TestReport29EqualSizeEqualTimes(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "k")
	s := open(t, dir, Options{})
	require.NoError(t, os.WriteFile(name, []byte(strings.Repeat("0", 100)), 0o666))
	first, err := os.Stat(name)
	require.NoError(t, err)
	_, known, err := s.ReadRanges(t.Context(), "k", []storage.Range{{Off: 0, Len: 1}}, "")
	require.NoError(t, err)
	for i := range 30 {
		want := strings.Repeat(string(rune('a'+i%20)), 100)
		other := filepath.Join(dir, "other")
		require.NoError(t, os.WriteFile(other, []byte(want), 0o666))
		require.NoError(t, os.Chtimes(other, first.ModTime(), first.ModTime()))
		require.NoError(t, os.Rename(other, name))
		_, _, err := s.ReadRanges(t.Context(), "k", []storage.Range{{Off: 50, Len: 1}}, known.Version)
		require.ErrorIs(t, err, fault.ErrStale)
		var bs [][]byte
		bs, known, err = s.ReadRanges(t.Context(), "k", []storage.Range{storage.All}, "")
		require.NoError(t, err)
		require.Equal(t, want, string(bs[0]))
	}
}
