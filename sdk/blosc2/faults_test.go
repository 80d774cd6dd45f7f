package blosc2_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

// Tests named after reports of faults in other libraries.

// reading is a file system that nothing may be changed on.
type reading struct {
	storage.FS
	t *testing.T
}

func (r reading) changes(what, name string) error {
	r.t.Errorf("%s of %s, by who only reads", what, name)
	return fault.New(fault.ErrReadOnly, "read-only", name, "")
}

func (r reading) Open(ctx context.Context, name string, flags storage.OpenFlag) (storage.File, error) {
	if flags != storage.OpenRead {
		return nil, r.changes("opening for writing", name)
	}
	return r.FS.Open(ctx, name, flags)
}

func (r reading) Rename(_ context.Context, from, _ string) error { return r.changes("renaming", from) }
func (r reading) RenameNoReplace(_ context.Context, from, _ string) error {
	return r.changes("renaming", from)
}
func (r reading) Remove(_ context.Context, name string) error  { return r.changes("removal", name) }
func (r reading) Mkdir(_ context.Context, name string) error   { return r.changes("making", name) }
func (r reading) SyncDir(_ context.Context, name string) error { return r.changes("syncing", name) }

// Report 51: who reads, mapped or not, with a lock file left beside or not,
// opens nothing for writing and leaves every file and time as it was.
func TestReport51ReadersChangeNothing(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer fs.Close()
	want := counted(3 * 100)
	for name, sparse := range map[string]bool{"a.b2nd": false, "s.b2nd": true} {
		a, err := blosc2.CreateFrom(ctx, fs, name, blosc2.Shape{Shape: []int64{3, 100}, DType: "<i4", Chunks: []int64{1, 100}}, want, blosc2.Spec{Sparse: sparse}, writing)
		require.NoError(t, err)
		require.NoError(t, a.Close())
	}
	write(t, fs, "a.b2nd.b2lock", "\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00")
	require.NoError(t, filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !e.IsDir() {
			require.NoError(t, os.Chmod(name, 0o444))
		}
		return os.Chtimes(name, time.Unix(1e9, 0), time.Unix(1e9, 0))
	}))
	look := func() (all []string) {
		require.NoError(t, filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
			require.NoError(t, err)
			info, err := os.Stat(name)
			require.NoError(t, err)
			b, _ := os.ReadFile(name)
			all = append(all, fmt.Sprint(name, info.Mode(), info.ModTime(), sum(b)))
			return nil
		}))
		return all
	}
	before := look()
	for _, name := range []string{"a.b2nd", "s.b2nd"} {
		for _, o := range []blosc2.Options{{}, {Map: true}, {Locking: blosc2.LockedIfPossible}} {
			c, err := blosc2.Open(ctx, reading{fs, t}, name, o)
			if o.Map && fault.CodeOf(err) == fault.CodeUnsupported {
				continue // there are no mappings here
			}
			require.NoError(t, err, "%s %+v", name, o)
			require.Equal(t, want, items(t, c.(*blosc2.NDArray)))
			_, err = c.(*blosc2.NDArray).Refresh(ctx)
			require.NoError(t, err)
			_, err = c.Describe(ctx)
			require.NoError(t, err)
			require.NoError(t, c.Close())
		}
	}
	require.Equal(t, before, look())
}

// Report 53: small frames of each codec, every byte of which is set to 0, to
// 255 and flipped, and that are cut at every length: an error of a known kind,
// or elements, in little time and memory.
func TestReport53EveryByte(t *testing.T) {
	ctx := t.Context()
	data := make([]byte, 600)
	for i := range data {
		data[i] = byte(i / 7)
	}
	random := rand.New(rand.NewPCG(5, 3))
	for i := range 150 {
		data[i] = byte(random.Uint32())
	}
	limits := blosc2.Limits{Index: 1 << 20, Chunk: 1 << 20, Meta: 1 << 20}
	var before, after runtime.MemStats
	tried, refused := 0, 0
	for _, codec := range []blosc.Codec{blosc.BloscLZ, blosc.LZ4, blosc.Zlib, blosc.Zstd} {
		fs := storage.NewMemoryFS(0)
		a, err := blosc2.CreateFrom(ctx, fs, "a", blosc2.Shape{Shape: []int64{150}, DType: "<i4", Chunks: []int64{100}, Blocks: []int64{50}}, data,
			blosc2.Spec{Params: blosc.Params{Codec: codec, Level: 5, Filters: []blosc.Filter{5: {ID: blosc.Shuffle}}}, Meta: []blosc2.Metalayer{{Name: "m", Value: []byte("value")}}}, writing)
		require.NoError(t, err)
		require.NoError(t, a.SChunk().SetVLValue(ctx, "v", []byte("\xa4more")))
		whole, err := blosc2.Bytes(ctx, a)
		require.NoError(t, err)
		require.Less(t, len(whole), 2048)
		require.NoError(t, a.Close())
		read := func(b []byte) error {
			c, err := blosc2.OpenBytes(ctx, b, "f", blosc2.Options{Limits: limits})
			if err == nil {
				_, err = c.Describe(ctx)
				switch c := c.(type) {
				case *blosc2.NDArray:
					if n := product(c.Shape().Shape); err == nil && n < 1<<18 {
						_, err = c.Slice(ctx, nil, nil)
					}
				case *blosc2.SChunk:
					if err == nil && c.Header().Size < 1<<20 {
						err = c.ReadBytes(ctx, 0, make([]byte, c.Header().Size))
					}
				}
				require.NoError(t, c.Close())
			}
			return err
		}
		try := func(b []byte, what string, at int) {
			tried++
			var err error
			storagetest.Within(t, time.Second, func() { err = read(b) })
			if err != nil {
				refused++
				require.Contains(t, []fault.Code{fault.CodeCorrupt, fault.CodeUnsupported, fault.CodeLimit, fault.CodeInvalid, fault.CodeNotFound}, fault.CodeOf(err), "%v %s %d: %v", codec, what, at, err)
			}
		}
		runtime.ReadMemStats(&before)
		most := uint64(0)
		for at := range whole {
			for _, v := range []byte{0, 255, ^whole[at]} {
				bad := bytes.Clone(whole)
				bad[at] = v
				try(bad, fmt.Sprint("set to ", v), at)
			}
			try(whole[:at:at], "cut at", at)
			if at%64 == 63 {
				runtime.ReadMemStats(&after)
				most = max(most, after.TotalAlloc-before.TotalAlloc)
				before = after
			}
		}
		require.Less(t, most, uint64(64<<20), "of all 256 cases together")
	}
	t.Logf("%d damages, %d refused", tried, refused)
	require.Greater(t, refused, tried/4)
}

func product(shape []int64) int64 {
	n := int64(1)
	for _, x := range shape {
		if n *= x; n < 0 || n > 1<<40 {
			return 1 << 40
		}
	}
	return n
}

// failingLocker is a locker of a file system that has no locks, from a while on.
type failingLocker struct {
	storage.Locker
	from  int64
	locks atomic.Int64
}

func (u *failingLocker) Lock(ctx context.Context, name string, o storage.Owner, m storage.LockMode) (func() error, error) {
	if u.locks.Add(1) > u.from {
		return nil, fault.New(fault.ErrUnsupported, "lock", name, "the file system has no locks; open without locking")
	}
	return u.Locker.Lock(ctx, name, o, m)
}

// Report 57: where locks fail, from the beginning or in the middle, nothing is
// read or written without one.
func TestReport57NothingUnlocked(t *testing.T) {
	ctx := t.Context()
	for from := range int64(12) {
		fs := storage.NewMemoryFS(0)
		numbers(t, fs, "a", blosc2.Options{}, 20).Close()
		before := storagetest.Contents(t, fs, "a")
		o := lockedOptions(&failingLocker{Locker: storage.NewMemoryLocker(), from: from})
		refused := func(err error) {
			t.Helper()
			require.ErrorIs(t, err, fault.ErrUnsupported)
			require.ErrorContains(t, err, "without locking")
			require.Equal(t, before, storagetest.Contents(t, fs, "a"))
		}
		c, err := blosc2.Open(ctx, fs, "a", o)
		if err != nil {
			refused(err)
			continue
		}
		a := c.(*blosc2.NDArray)
		for i := int32(1); err == nil; i++ {
			require.Less(t, i, int32(20), "it never fails")
			before = storagetest.Contents(t, fs, "a")
			if err = a.SetSlice(ctx, nil, all(20, i)); err == nil {
				var got []byte
				before = storagetest.Contents(t, fs, "a")
				if got, err = a.Slice(ctx, nil, nil); err == nil {
					require.Equal(t, all(20, i), got)
				}
			}
		}
		refused(err)
		refused(a.SetSlice(ctx, nil, all(20, 99)))
		_, err = a.Slice(ctx, nil, nil)
		refused(err)
		refused(a.HoldingLock(ctx, func(context.Context, *blosc2.NDArray) error { t.Error("held"); return nil }))
		require.NoError(t, a.Close())
		// The switch to go without.
		u := opened(t, fs, "a", blosc2.Options{Write: true})
		require.NoError(t, u.SetSlice(ctx, nil, all(20, 5)))
	}
}

// Report 64: a container that grows far beyond its mapping while ten goroutines
// read through that, and one of them looks for what is new between its reads.
// Nobody waits for ever, and who has a snapshot keeps it.
func TestReport64GrowsWhileMapped(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer fs.Close()
	first := counted(100)
	w, err := blosc2.CreateFrom(ctx, fs, "a", blosc2.Shape{Shape: []int64{100}, DType: "<i4", Chunks: []int64{100}}, first, blosc2.Spec{Params: blosc.Params{Codec: blosc.LZ4}}, writing)
	require.NoError(t, err)
	defer w.Close()
	mappings(t, fs, "a")
	c, err := blosc2.Open(ctx, fs, "a", blosc2.Options{Map: true})
	require.NoError(t, err)
	m := c.(*blosc2.NDArray)
	defer m.Close()
	var readers sync.WaitGroup
	var over atomic.Bool
	for r := range 10 {
		readers.Go(func() {
			for reads := 0; !over.Load() || reads == 0; reads++ {
				got, err := m.Slice(ctx, []blosc2.Span{{Start: 0, Stop: 100}}, nil)
				if err != nil || !bytes.Equal(first, got) {
					t.Errorf("reader %d: %v, %d bytes", r, err, len(got))
					return
				}
				if r == 0 {
					if _, err := m.Refresh(ctx); err != nil {
						t.Error(err)
						return
					}
				}
				runtime.Gosched()
			}
		})
	}
	for range 60 {
		if err := w.Append(ctx, 0, counted(20_000)); err != nil {
			t.Error(err)
			break
		}
	}
	over.Store(true)
	readers.Wait()
	_, err = m.Refresh(ctx)
	require.NoError(t, err)
	require.Equal(t, []int64{100 + 60*20_000}, m.Shape().Shape)
}
