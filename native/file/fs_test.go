package file

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

func openFS(t *testing.T, dir string) *FS {
	fs, err := OpenFS(dir)
	require.NoError(t, err)
	t.Cleanup(func() { fs.Close() })
	return fs
}

func TestFS(t *testing.T) {
	storagetest.FS(t, func(t *testing.T) storage.FS { return openFS(t, t.TempDir()) })
}

func TestLocker(t *testing.T) {
	storagetest.Locker(t, func(t *testing.T) storage.Locker { return NewLocker(openFS(t, t.TempDir())) })
}

func TestLockFile(t *testing.T) {
	storagetest.LockFile(t, func(t *testing.T) (storage.Locker, storage.FS, storage.Clock) {
		fs := openFS(t, t.TempDir())
		return fs.Locker(), fs, fs.Clock()
	})
}

// Links out of the root are no way to write, rename, make or remove anything.
func TestFSLinks(t *testing.T) {
	ctx := context.Background()
	outer := t.TempDir()
	root := filepath.Join(outer, "root")
	write(t, filepath.Join(root, "f"), []byte("f"))
	write(t, filepath.Join(outer, "secret"), []byte("secret"))
	require.NoError(t, os.Symlink("..", filepath.Join(root, "parent")))
	require.NoError(t, os.Symlink("../secret", filepath.Join(root, "out")))
	require.NoError(t, os.Symlink("../made", filepath.Join(root, "new")))
	fs := openFS(t, root)
	const create = storage.OpenRead | storage.OpenWrite | storage.OpenCreate
	for _, name := range []string{"out", "new", "parent/secret", "parent/made"} {
		_, err := fs.Open(ctx, name, create)
		require.ErrorIs(t, err, fault.ErrNotAllowed, name)
		_, err = fs.Stat(ctx, name)
		require.ErrorIs(t, err, fault.ErrNotAllowed, name)
	}
	require.ErrorIs(t, fs.Mkdir(ctx, "parent/made"), fault.ErrNotAllowed)
	require.ErrorIs(t, fs.Remove(ctx, "parent/secret"), fault.ErrNotAllowed)
	require.ErrorIs(t, fs.Rename(ctx, "f", "parent/made"), fault.ErrNotAllowed)
	require.ErrorIs(t, fs.Rename(ctx, "parent/secret", "g"), fault.ErrNotAllowed)
	require.ErrorIs(t, fs.RenameNoReplace(ctx, "f", "parent/made"), fault.ErrNotAllowed)
	require.ErrorIs(t, fs.RenameNoReplace(ctx, "parent/secret", "g"), fault.ErrNotAllowed)
	require.ErrorIs(t, fs.Rename(ctx, "f", "out"), fault.ErrNotAllowed)
	require.ErrorIs(t, fs.Rename(ctx, "out", "g"), fault.ErrNotAllowed)
	_, err := NewLocker(fs).Lock(ctx, "new", 1, storage.LockExclusive)
	require.ErrorIs(t, err, fault.ErrNotAllowed)
	names, err := fs.List(ctx, "")
	require.NoError(t, err)
	require.Equal(t, []string{"f"}, names)
	entries, err := os.ReadDir(outer)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	got, err := os.ReadFile(filepath.Join(outer, "secret"))
	require.NoError(t, err)
	require.Equal(t, "secret", string(got))
}

// What takes the name of a link takes the place of what that leads to.
func TestRenameToLinks(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	for _, name := range []string{"real/f", "real/dir/f", "new", "newer", "newest"} {
		write(t, filepath.Join(root, name), []byte(name))
	}
	link := func(target, name string) { require.NoError(t, os.Symlink(target, filepath.Join(root, name))) }
	link("link", "chain")
	link("real/../real/f", "link")
	link("real/made", "dangling")
	link("real/dir", "dir")
	link("loop", "loop")
	fs := openFS(t, root)
	require.NoError(t, fs.Rename(ctx, "new", "chain"))
	require.ErrorIs(t, fs.RenameNoReplace(ctx, "newer", "dangling"), fault.ErrExists)
	require.NoError(t, fs.Rename(ctx, "newer", "dangling"))
	require.NoError(t, fs.Rename(ctx, "dir", "moved"))
	require.ErrorIs(t, fs.Rename(ctx, "newest", "loop"), fault.ErrIO)
	for name, want := range map[string]string{"chain": "new", "link": "new", "real/f": "new", "dangling": "newer", "real/made": "newer", "moved/f": "real/dir/f"} {
		got, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.Equal(t, want, string(got), name)
	}
	for _, name := range []string{"chain", "link", "dangling", "dir"} {
		_, err := os.Readlink(filepath.Join(root, name))
		require.NoError(t, err, name)
	}

	s := open(t, root, Options{})
	_, err := s.Put(ctx, "chain", []byte("put"), storage.Condition{})
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(root, "real/f"))
	require.NoError(t, err)
	require.Equal(t, "put", string(got))
}

// Two lockers, by two paths, are one for the process; and handles of other
// processes are kept out, until they end, even by kill.
func TestLockerProcesses(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	require.NoError(t, os.Symlink(dir, filepath.Join(dir, "again")))
	a, b := NewLocker(openFS(t, dir)), NewLocker(openFS(t, filepath.Join(dir, "again")))
	unlock, err := a.Lock(ctx, "l", 1, storage.LockExclusive)
	require.NoError(t, err)
	_, err = b.Lock(ctx, "l", 1, storage.LockExclusive)
	require.ErrorIs(t, err, fault.ErrLocked)
	require.NoError(t, unlock())

	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), "LOCK_DIR="+dir)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", line)

	soon, cancel := context.WithDeadline(ctx, time.Now().Add(20*time.Millisecond))
	defer cancel()
	_, err = a.Lock(soon, "l", 1, storage.LockShared)
	require.ErrorIs(t, err, fault.ErrLockTimeout)
	got := make(chan error)
	go func() {
		unlock, err := a.Lock(ctx, "l", 1, storage.LockShared)
		if err == nil {
			err = unlock()
		}
		got <- err
	}()
	require.NoError(t, cmd.Process.Kill())
	require.NoError(t, <-got)
	cmd.Wait()
}

// TestChild is the other process.
func TestChild(t *testing.T) {
	dir := os.Getenv("LOCK_DIR")
	if dir == "" {
		t.Skip("for TestLockerProcesses")
	}
	fs, err := OpenFS(dir)
	require.NoError(t, err)
	_, err = NewLocker(fs).Lock(context.Background(), "l", 7, storage.LockExclusive)
	require.NoError(t, err)
	os.Stdout.WriteString("held\n")
	bufio.NewReader(os.Stdin).ReadByte() // until killed
}

// A lock file that was replaced while somebody waited for it excludes nobody:
// the lock is taken on the file that the name leads to.
func TestLockerReplacedFile(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	l := NewLocker(openFS(t, dir))
	unlock, err := l.Lock(ctx, "l", 1, storage.LockExclusive)
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, "l")))
	second, err := l.Lock(ctx, "l", 1, storage.LockExclusive)
	require.NoError(t, err, "the old file is nobody's any more")
	soon, cancel := context.WithDeadline(ctx, time.Now().Add(5*time.Millisecond))
	defer cancel()
	_, err = l.Lock(soon, "l", 2, storage.LockExclusive)
	require.ErrorIs(t, err, fault.ErrLockTimeout)
	require.NoError(t, unlock())
	require.NoError(t, second())
}

// Whatever is done to the times of a file, ChangeTime moves; and a file is
// looked at by its name as by its opening.
func TestChangeTime(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	fs := openFS(t, dir)
	write(t, filepath.Join(dir, "f"), make([]byte, 100_000))
	f, err := fs.Open(ctx, "f", storage.OpenRead)
	require.NoError(t, err)
	defer f.Close()
	before, err := f.Stat()
	require.NoError(t, err)
	named, err := fs.Stat(ctx, "f")
	require.NoError(t, err)
	require.Equal(t, before, named)
	if before.ChangeTime.IsZero() {
		t.Skip("no change times here")
	}
	require.GreaterOrEqual(t, before.Allocated, int64(0))
	for after := before; after.ChangeTime.Equal(before.ChangeTime); { // the system's clock ticks slowly
		require.NoError(t, os.Chtimes(filepath.Join(dir, "f"), before.ModTime, before.ModTime))
		after, err = f.Stat()
		require.NoError(t, err)
		require.Equal(t, before.ModTime, after.ModTime)
	}
}
