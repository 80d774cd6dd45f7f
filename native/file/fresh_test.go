package file

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

// TestChanges: whatever happens to a file, bytes of the version that was
// wanted are never taken from another one.
func TestChanges(t *testing.T) {
	ctx := context.Background()
	old, fresh := storagetest.Pattern(1000, 1), storagetest.Pattern(1000, 2)
	for name, change := range map[string]func(t *testing.T, name string){
		"replaced by rename": func(t *testing.T, name string) {
			write(t, name+".new", fresh)
			require.NoError(t, os.Rename(name+".new", name))
		},
		"rewritten in place": func(t *testing.T, name string) {
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.WriteAt(fresh, 0)
			require.NoError(t, err)
			require.NoError(t, f.Close())
		},
		"rewritten, its time put back": func(t *testing.T, name string) {
			info, err := os.Stat(name)
			require.NoError(t, err)
			write(t, name, fresh)
			require.NoError(t, os.Chtimes(name, time.Time{}, info.ModTime()))
		},
		"renamed away": func(t *testing.T, name string) {
			require.NoError(t, os.Rename(name, name+".old"))
			write(t, name, fresh)
		},
		"removed and made again": func(t *testing.T, name string) {
			require.NoError(t, os.Remove(name))
			write(t, name, fresh)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "k")
			write(t, file, old)
			s := open(t, dir, Options{Recheck: 1})
			_, info, err := s.ReadRanges(ctx, "k", []storage.Range{storage.Suffix(10)}, "")
			require.NoError(t, err)
			change(t, file)
			dst := make([]byte, 10)
			for range 2 {
				_, _, err = s.ReadInto(ctx, "k", 5, dst, info.Version)
				require.ErrorIs(t, err, fault.ErrStale)
			}
			_, _, err = s.ReadRanges(ctx, "k", []storage.Range{storage.Suffix(10)}, info.Version)
			require.ErrorIs(t, err, fault.ErrStale)
			_, again, err := s.ReadInto(ctx, "k", 5, dst, "")
			require.NoError(t, err)
			require.Equal(t, fresh[5:15], dst)
			require.NotEqual(t, info.Version, again.Version)
			_, _, err = s.ReadInto(ctx, "k", 5, dst, again.Version)
			require.NoError(t, err)
		})
	}
	t.Run("removed", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "k"), old)
		s := open(t, dir, Options{})
		_, info, err := s.ReadRanges(ctx, "k", nil, "")
		require.NoError(t, err)
		require.NoError(t, os.Remove(filepath.Join(dir, "k")))
		for _, want := range []storage.Version{"", info.Version} {
			_, _, err = s.ReadRanges(ctx, "k", nil, want)
			require.ErrorIs(t, err, fault.ErrNotFound)
		}
	})
	t.Run("cut", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "k"), old)
		s := open(t, dir, Options{})
		_, info, err := s.ReadRanges(ctx, "k", nil, "")
		require.NoError(t, err)
		require.NoError(t, os.Truncate(filepath.Join(dir, "k"), 100))
		_, _, err = s.ReadRanges(ctx, "k", []storage.Range{{Off: 90, Len: 50}}, info.Version)
		require.ErrorIs(t, err, fault.ErrStale)
		bs, info, err := s.ReadRanges(ctx, "k", []storage.Range{{Off: 90, Len: 50}}, "")
		require.NoError(t, err)
		require.Equal(t, old[90:100], bs[0])
		require.EqualValues(t, 100, info.Size)
	})
}

// A name that leads elsewhere while its file lives on is noticed after the
// recheck, and until then the bytes are of the version they are said to be.
func TestRenamedAwayBeforeRecheck(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	name := filepath.Join(dir, "k")
	write(t, name, []byte("old"))
	s := open(t, dir, Options{Recheck: time.Hour})
	_, info, err := s.ReadRanges(ctx, "k", nil, "")
	require.NoError(t, err)
	require.NoError(t, os.Rename(name, name+".old"))
	write(t, name, []byte("new"))
	bs, again, err := s.ReadRanges(ctx, "k", []storage.Range{storage.All}, "")
	require.NoError(t, err)
	require.Equal(t, "old", string(bs[0]))
	require.NotEqual(t, "", info.Version+again.Version)
	s.recheck = 0
	bs, _, err = s.ReadRanges(ctx, "k", []storage.Range{storage.All}, "")
	require.NoError(t, err)
	require.Equal(t, "new", string(bs[0]))
}

// TestRacyChanges rewrites a file with equal size as fast as it can. A reader
// that got a version and then bytes of it must have them from one writing.
func TestRacyChanges(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	name := filepath.Join(dir, "k")
	fill := func(b byte) []byte {
		data := make([]byte, 4096)
		for i := range data {
			data[i] = b
		}
		return data
	}
	write(t, name, fill(0))
	s := open(t, dir, Options{})
	for i := range 100 {
		head, info, err := s.ReadRanges(ctx, "k", []storage.Range{{Off: 0, Len: 1}}, "")
		require.NoError(t, err)
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		require.NoError(t, err)
		if i%3 > 0 { // else nothing changes
			_, err = f.WriteAt(fill(byte(i)), 0)
			require.NoError(t, err)
		}
		require.NoError(t, f.Close())
		tail, _, err := s.ReadRanges(ctx, "k", []storage.Range{storage.Suffix(1)}, info.Version)
		if i%3 > 0 {
			require.ErrorIs(t, err, fault.ErrStale)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, head, tail)
	}
}

// TestVersionOfFileBeingWritten: while changes come faster than the clock
// ticks, each version is unique.
func TestVersionOfFileBeingWritten(t *testing.T) {
	now := stat{size: 1}
	for try := 0; !racy(now); try++ { // the machine may be slow
		require.Less(t, try, 1000)
		now.mtime = time.Now().UnixNano()
	}
	require.NotEqual(t, now.version(true), now.version(true))
	then := stat{size: 1, mtime: time.Now().Add(-time.Second).UnixNano()}
	require.False(t, racy(then))
	require.Equal(t, then.version(false), then.version(false))
	later := stat{size: 1, mtime: time.Now().Add(time.Hour).UnixNano()}
	require.False(t, racy(later))
	moved := then // here, just now
	for try := 0; !racy(moved); try++ {
		require.Less(t, try, 1000)
		moved.change = time.Now().UnixNano()
	}
}

// TestHandles: no more files are open than were allowed, beyond those that
// are being read, and none after Close.
func TestHandles(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts /proc/self/fd")
	}
	count := func(dir string) int {
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		n := 0
		for _, e := range entries {
			if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && filepath.Dir(to) == dir {
				n++
			}
		}
		return n
	}
	ctx := context.Background()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for i := range 100 {
		write(t, filepath.Join(dir, strconv.Itoa(i)), storagetest.Pattern(100, byte(i)))
	}
	s := open(t, dir, Options{Handles: 10})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			dst := make([]byte, 100)
			for i := range 2000 {
				k := (i*7 + g*13) % 100
				if i%2 == 0 {
					k = 0 // stays, being used all the time
				}
				n, _, err := s.ReadInto(ctx, strconv.Itoa(k), 0, dst, "")
				if err != nil || n != 100 || string(dst) != string(storagetest.Pattern(100, byte(k))) {
					t.Errorf("%d: %d bytes, %v", k, n, err)
					return
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, 10, count(dir))
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.Equal(t, 0, count(dir))
	_, _, err = s.ReadRanges(ctx, "0", nil, "")
	require.ErrorIs(t, err, fault.ErrClosed)
}

// A handle is not closed under its reader, whatever the cache drops.
func TestReaderKeepsHandle(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), []byte("a"))
	write(t, filepath.Join(dir, "b"), []byte("b"))
	s := open(t, dir, Options{Handles: 1})
	h, err := s.acquire("a")
	require.NoError(t, err)
	_, _, err = s.ReadRanges(context.Background(), "b", nil, "")
	require.NoError(t, err)
	require.Equal(t, 1, s.cache.len())
	require.NoError(t, s.Close())
	p := make([]byte, 1)
	n, err := h.readAt(p, 0)
	require.NoError(t, err)
	require.Equal(t, "a", string(p[:n]))
	h.release()
	_, err = h.file.Stat()
	require.ErrorIs(t, err, os.ErrClosed)
}

// TestFailure: what the system says keeps its meaning.
func TestFailure(t *testing.T) {
	path := func(err error) error { return &os.PathError{Op: "openat", Path: "/secret/place", Err: err} }
	for _, tc := range []struct{ err, want error }{
		{path(syscall.ENOENT), fault.ErrNotFound},
		{path(syscall.ENOTDIR), fault.ErrNotFound},
		{path(syscall.EACCES), fault.ErrNotAllowed},
		{path(syscall.EPERM), fault.ErrNotAllowed},
		{path(syscall.EIO), fault.ErrIO},
		{path(syscall.ELOOP), fault.ErrIO},
		{path(syscall.EMFILE), fault.ErrIO},
		{path(syscall.ESTALE), fault.ErrIO},
		{path(syscall.EISDIR), fault.ErrIO},
		{path(syscall.EROFS), fault.ErrReadOnly},
		{path(syscall.EEXIST), fault.ErrExists},
		{path(syscall.ENOTEMPTY), fault.ErrExists},
		{path(syscall.EOPNOTSUPP), fault.ErrUnsupported},
		{path(os.ErrClosed), fault.ErrClosed},
		{path(errors.New("path escapes from parent")), fault.ErrNotAllowed},
		{errors.New("something"), fault.ErrIO},
	} {
		err := failure("k", tc.err)
		require.ErrorIs(t, err, tc.want, tc.err.Error())
		require.NotContains(t, err.Error(), "secret")
	}
	require.True(t, tooManyOpen(path(syscall.EMFILE)))
	require.NoError(t, failure("k", nil))
}

// Two openings of one directory are the same store, two directories are not.
func TestIdentity(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	link := filepath.Join(b, "link")
	require.NoError(t, os.Symlink(a, link))
	require.True(t, storage.Same(open(t, a, Options{}), open(t, link, Options{})))
	require.False(t, storage.Same(open(t, a, Options{}), open(t, b, Options{})))
}

// A sparse file that claims an absurd size is refused before memory is taken.
func TestLargest(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "k"), []byte("start"))
	require.NoError(t, os.Truncate(filepath.Join(dir, "k"), 1<<43))
	s := open(t, dir, Options{})
	for _, r := range []storage.Range{storage.All, storage.Suffix(1 << 42), {Off: 1, Len: 1 << 62}} {
		_, _, err := s.ReadRanges(context.Background(), "k", []storage.Range{r}, "")
		require.ErrorIs(t, err, fault.ErrLimit)
	}
	bs, info, err := s.ReadRanges(context.Background(), "k", []storage.Range{{Off: 0, Len: 5}}, "")
	require.NoError(t, err)
	require.Equal(t, "start", string(bs[0]))
	require.Equal(t, int64(1<<43), info.Size)
}

// What changes between the first and the last look at it is read again, and
// given up when it goes on changing.
func TestChangedWhileRead(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	name := filepath.Join(dir, "k")
	for _, tc := range []struct {
		changes, reads int
		want           error
	}{{0, 1, nil}, {1, 2, nil}, {3, 4, nil}, {1000, attempts, fault.ErrStale}} {
		for how, change := range map[string]func(n int){
			"rewritten": func(n int) { write(t, name, make([]byte, 100+n)) },
			"replaced": func(n int) {
				write(t, name+".new", make([]byte, 100+n))
				require.NoError(t, os.Rename(name+".new", name))
			},
		} {
			write(t, name, make([]byte, 100))
			s := open(t, dir, Options{})
			reads := 0
			info, err := s.read(ctx, "k", "", func(*handle, int64) error {
				if reads < tc.changes {
					change(reads + 1)
				}
				reads++
				return nil
			})
			require.ErrorIs(t, err, tc.want, how)
			require.Equal(t, tc.reads, reads, how)
			if tc.want == nil {
				require.EqualValues(t, 100+tc.changes, info.Size, how)
			}
		}
	}
}
