package faultfs_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/faultfs"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

const update = storage.OpenRead | storage.OpenWrite | storage.OpenCreate

// Where nothing goes wrong, the adapters are what they stand for.
func TestPorts(t *testing.T) {
	t.Run("disk", func(t *testing.T) {
		storagetest.FS(t, func(*testing.T) storage.FS { return faultfs.NewDisk(0) })
	})
	t.Run("fs", func(t *testing.T) {
		storagetest.FS(t, func(*testing.T) storage.FS { return faultfs.New(nil).FS(faultfs.NewDisk(0)) })
	})
	t.Run("locker", func(t *testing.T) {
		storagetest.Locker(t, func(*testing.T) storage.Locker { return faultfs.New(nil).FS(faultfs.NewDisk(0)).Locker() })
	})
	t.Run("store", func(t *testing.T) {
		storagetest.Store(t, func(_ *testing.T, objects map[string][]byte) storage.Store {
			m := storage.NewMemory()
			for key, data := range objects {
				m.Set(key, data)
			}
			return faultfs.New(nil).Store(m)
		})
	})
}

func open(t *testing.T, fs storage.FS, name string) storage.File {
	t.Helper()
	f, err := fs.Open(t.Context(), name, update)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func write(t *testing.T, f storage.File, off int64, data string) {
	t.Helper()
	_, err := f.WriteAt([]byte(data), off)
	require.NoError(t, err)
}

// text is what a file holds; "-" if there is none.
func text(t *testing.T, fs storage.FS, name string) string {
	t.Helper()
	if _, err := fs.Stat(t.Context(), name); err != nil {
		require.ErrorIs(t, err, fault.ErrNotFound)
		return "-"
	}
	return string(storagetest.Contents(t, fs, name))
}

func TestFailures(t *testing.T) {
	disk := faultfs.NewDisk(0)
	x := faultfs.New(faultfs.Nth(1, faultfs.Fault{Err: faultfs.Errno("ENOSPC"), Done: 3}, faultfs.Write))
	f := open(t, x.FS(disk), "f")
	write(t, f, 0, "first.")
	n, err := f.WriteAt([]byte("second"), 6)
	require.ErrorIs(t, err, fault.ErrNoSpace)
	require.ErrorContains(t, err, "ENOSPC")
	require.Equal(t, 3, n)
	write(t, f, 9, "!")
	require.Equal(t, "first.sec!", text(t, disk, "f"))
	require.Len(t, x.Ops(), 4)
	require.Equal(t, faultfs.Op{N: 2, Kind: faultfs.Write, Name: "f", Off: 6, Len: 6}, x.Ops()[2])

	// Done without an answer.
	fs := faultfs.New(faultfs.Nth(0, faultfs.Fault{Err: faultfs.Errno("EIO"), Done: faultfs.Whole}, faultfs.Rename)).FS(disk)
	require.ErrorIs(t, fs.Rename(t.Context(), "f", "g"), fault.ErrIO)
	require.Equal(t, "first.sec!", text(t, disk, "g"))

	// Short, as if it ended there.
	f = open(t, faultfs.New(faultfs.Nth(0, faultfs.Fault{Short: 2}, faultfs.Read)).FS(disk), "g")
	b := make([]byte, 5)
	n, err = f.ReadAt(b, 0)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, "fir", string(b[:n]))
	n, err = f.ReadAt(b, 0)
	require.NoError(t, err)
	require.Equal(t, 5, n)

	require.Panics(t, func() { faultfs.Errno("ENOSUCH") })
}

// What waits, waits for the test; and what others do meanwhile is done before.
func TestBefore(t *testing.T) {
	disk := faultfs.NewDisk(0)
	write(t, open(t, disk, "f"), 0, "old")
	x := faultfs.New(faultfs.Nth(0, faultfs.Fault{Before: func() { write(t, open(t, disk, "f"), 0, "new") }}, faultfs.Read))
	b := make([]byte, 3)
	_, err := open(t, x.FS(disk), "f").ReadAt(b, 0)
	require.NoError(t, err)
	require.Equal(t, "new", string(b))
}

// A late write is done after the next one, and before its file is looked at.
func TestLate(t *testing.T) {
	disk := faultfs.NewDisk(0)
	f := open(t, faultfs.New(faultfs.Nth(0, faultfs.Fault{Late: true}, faultfs.Write)).FS(disk), "f")
	b := []byte("late")
	_, err := f.WriteAt(b, 0)
	require.NoError(t, err)
	copy(b, "XXXX")
	require.Equal(t, "", text(t, disk, "f"))
	write(t, f, 2, "soon")
	require.Equal(t, "lateon", text(t, disk, "f"))

	f = open(t, faultfs.New(faultfs.Nth(0, faultfs.Fault{Late: true}, faultfs.Write)).FS(disk), "f")
	write(t, f, 0, "L")
	require.NoError(t, f.Sync())
	require.Equal(t, "Lateon", text(t, disk, "f"))
}

// A process that is killed does nothing more, and holds nothing.
func TestKill(t *testing.T) {
	ctx := t.Context()
	disk := faultfs.NewDisk(0)
	x := faultfs.New(faultfs.Nth(1, faultfs.Fault{Kill: true, Done: 2}, faultfs.Write))
	fs := x.FS(disk)
	f := open(t, fs, "f")
	_, err := f.LockRange(7, storage.LockExclusive)
	require.NoError(t, err)
	unlock, err := fs.Locker().Lock(ctx, "l", 1, storage.LockExclusive)
	require.NoError(t, err)
	write(t, f, 0, "....")
	other := open(t, disk, "f")
	_, err = other.LockRange(7, storage.LockExclusive)
	require.ErrorIs(t, err, fault.ErrLocked)

	_, err = f.WriteAt([]byte("half"), 0)
	require.ErrorIs(t, err, faultfs.ErrKilled)
	require.True(t, x.Dead())
	require.Equal(t, "ha..", text(t, disk, "f"))
	_, err = other.LockRange(7, storage.LockExclusive)
	require.NoError(t, err)
	free, err := disk.Locker().Lock(ctx, "l", 2, storage.LockExclusive)
	require.NoError(t, err)
	require.ErrorIs(t, unlock(), faultfs.ErrKilled)
	require.NoError(t, free())

	for _, err := range []error{fs.Remove(ctx, "f"), fs.Mkdir(ctx, "d"), f.Sync(), f.Close(), f.Truncate(0)} {
		require.ErrorIs(t, err, faultfs.ErrKilled)
	}
	_, err = fs.Open(ctx, "f", update)
	require.ErrorIs(t, err, faultfs.ErrKilled)
	require.Equal(t, "ha..", text(t, disk, "f"))
}

func TestStoresAndFetchers(t *testing.T) {
	ctx := t.Context()
	m := storage.NewMemory()
	m.Set("k", []byte("0123456789"))
	s := faultfs.New(func(op faultfs.Op) faultfs.Fault {
		return []faultfs.Fault{{Short: 4}, {Err: faultfs.Errno("ESTALE")}, {Err: faultfs.Errno("EIO"), Done: faultfs.Whole}}[op.N]
	}).Store(m)
	bs, _, err := s.ReadRanges(ctx, "k", []storage.Range{{Off: 0, Len: 10}, {Off: 8, Len: 2}}, "")
	require.NoError(t, err)
	require.Equal(t, "012345", string(bs[0]))
	require.Empty(t, bs[1])
	_, _, err = s.ReadRanges(ctx, "k", []storage.Range{storage.All}, "")
	require.ErrorContains(t, err, "ESTALE")
	_, err = s.Put(ctx, "k", []byte("new"), storage.Condition{})
	require.ErrorIs(t, err, fault.ErrIO)
	bs, _, err = m.ReadRanges(ctx, "k", []storage.Range{storage.All}, "")
	require.NoError(t, err)
	require.Equal(t, "new", string(bs[0]), "it was done, and nobody told")

	f := faultfs.New(faultfs.Nth(1, faultfs.Fault{Short: 3})).Fetcher(fetches("a body"))
	r, err := f.Fetch(ctx, storage.Request{URL: "u", Limit: 100})
	require.NoError(t, err)
	require.Equal(t, "a body", string(r.Body))
	r, err = f.Fetch(ctx, storage.Request{URL: "u", Limit: 100})
	require.NoError(t, err)
	require.Equal(t, "a b", string(r.Body))
}

type fetches string

func (f fetches) Fetch(context.Context, storage.Request) (storage.Response, error) {
	return storage.Response{Status: 200, Body: []byte(f)}, nil
}

// cuts are the different things that some hundred power cuts leave.
func cuts(t *testing.T, disk *faultfs.Disk, look func(fs storage.FS) string) map[string]int {
	t.Helper()
	seen := map[string]int{}
	for seed := range uint64(400) {
		seen[look(disk.Cut(rand.New(rand.NewPCG(seed, 0))))]++
	}
	return seen
}

// What was synced is there after every cut; of the rest anything may be.
func TestCutData(t *testing.T) {
	disk := faultfs.NewDisk(0)
	f := open(t, disk, "f")
	write(t, f, 0, "synced")
	require.NoError(t, f.Sync())
	require.NoError(t, disk.SyncDir(t.Context(), ""))
	write(t, f, 0, "SY")
	write(t, f, 6, "+")
	seen := cuts(t, disk, func(fs storage.FS) string { return text(t, fs, "f") })
	for _, want := range []string{"synced", "SYnced", "synced+", "SYnced+", "synced\x00"} {
		require.Positive(t, seen[want], "%q of %v", want, seen)
		delete(seen, want)
	}
	delete(seen, "SYnced\x00")
	require.Empty(t, seen)

	require.NoError(t, f.Sync())
	require.Equal(t, map[string]int{"SYnced+": 400}, cuts(t, disk, func(fs storage.FS) string { return text(t, fs, "f") }))
	require.NoError(t, f.Truncate(1))
	seen = cuts(t, disk, func(fs storage.FS) string { return text(t, fs, "f") })
	require.Len(t, seen, 2)
	require.Positive(t, seen["S"])
}

// A large write is torn between sectors, and nowhere else.
func TestCutTears(t *testing.T) {
	disk := faultfs.NewDisk(0)
	f := open(t, disk, "f")
	require.NoError(t, disk.SyncDir(t.Context(), ""))
	b := make([]byte, 2000)
	for i := range b {
		b[i] = 'x'
	}
	write(t, f, 100, string(b))
	torn := 0
	for seed := range uint64(100) {
		s := text(t, disk.Cut(rand.New(rand.NewPCG(seed, 0))), "f")
		parts := ""
		for _, at := range []int{100, 512, 1024, 1536, 2048} {
			end := min(max((at/512+1)*512, at+1), 2100, len(s))
			if at >= end {
				continue
			}
			for _, c := range s[at:end] {
				require.Equal(t, s[at], byte(c), "within a sector")
			}
			parts += s[at : at+1]
		}
		if parts != "" && parts != "xxxxx" {
			torn++
		}
	}
	require.Greater(t, torn, 10)
}

// Names are lost without a sync of their directory, and a renaming is done or
// not.
func TestCutNames(t *testing.T) {
	ctx := t.Context()
	disk := faultfs.NewDisk(0)
	require.NoError(t, disk.Mkdir(ctx, "d"))
	old := open(t, disk, "d/f")
	write(t, old, 0, "old")
	disk.SyncAll()
	tmp := open(t, disk, "d/tmp")
	write(t, tmp, 0, "new")
	require.NoError(t, tmp.Sync())
	require.NoError(t, disk.Rename(ctx, "d/tmp", "d/f"))
	look := func(fs storage.FS) string { return text(t, fs, "d/f") + " " + text(t, fs, "d/tmp") }
	seen := cuts(t, disk, look)
	for _, want := range []string{"old -", "old new", "new -"} {
		require.Positive(t, seen[want], "%q of %v", want, seen)
	}
	require.Len(t, seen, 3)
	require.NoError(t, disk.SyncDir(ctx, "d"))
	require.Equal(t, map[string]int{"new -": 400}, cuts(t, disk, look))

	require.NoError(t, disk.Remove(ctx, "d/f"))
	require.NoError(t, disk.Mkdir(ctx, "d/e"))
	write(t, open(t, disk, "d/e/g"), 0, "g")
	require.NoError(t, disk.Rename(ctx, "d", "D"))
	seen = cuts(t, disk, func(fs storage.FS) string {
		return text(t, fs, "d/f") + text(t, fs, "D/f") + text(t, fs, "d/e/g") + text(t, fs, "D/e/g")
	})
	for _, want := range []string{"new---", "-new--", "----", "---g", "--g-"} {
		require.Positive(t, seen[want], "%q of %v", want, seen)
	}
}

// The same choice leaves the same.
func TestCutIsDeterministic(t *testing.T) {
	disk := faultfs.NewDisk(0)
	for i := range 20 {
		write(t, open(t, disk, string(rune('a'+i%5))), int64(i*300), string(make([]byte, 700)))
	}
	list := func(seed uint64) []string {
		fs := disk.Cut(rand.New(rand.NewPCG(seed, 0)))
		names, err := fs.List(t.Context(), "")
		require.NoError(t, err)
		for i, name := range names {
			names[i] += text(t, fs, name)
		}
		return names
	}
	for seed := range uint64(30) {
		require.Equal(t, list(seed), list(seed))
	}
	require.False(t, errors.Is(faultfs.ErrKilled, fault.ErrIO))
}
