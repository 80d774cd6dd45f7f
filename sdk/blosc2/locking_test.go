package blosc2_test

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// lockedOptions are those of a handle on a file system in memory.
func lockedOptions(l storage.Locker) blosc2.Options {
	return blosc2.Options{Write: true, Locking: blosc2.Locked, Locker: l, Clock: running{}}
}

// running is the clock of the system.
type running struct{}

func (running) Now() time.Time { return time.Now() }

func (running) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// counter is what the lock's file of a container counts.
func counter(t *testing.T, fs storage.FS, name string) uint64 {
	t.Helper()
	f, err := fs.Open(t.Context(), name, storage.OpenRead)
	require.NoError(t, err)
	defer f.Close()
	b := make([]byte, 16)
	n, err := f.ReadAt(b, 0)
	require.Equal(t, 16, n, "%v", err)
	require.Equal(t, make([]byte, 8), b[:8])
	return binary.LittleEndian.Uint64(b[8:])
}

// numbers makes an array of int32 of that shape, in chunks of 10 items along
// the first axis.
func numbers(t *testing.T, fs storage.FS, name string, o blosc2.Options, shape ...int64) *blosc2.NDArray {
	t.Helper()
	chunks := append([]int64{10}, shape[1:]...)
	a, err := blosc2.CreateArray(t.Context(), fs, name, blosc2.Shape{Shape: shape, Chunks: chunks, Blocks: chunks, DType: "<i4"}, blosc2.Spec{Params: blosc.Params{Codec: blosc.LZ4, Level: 1}}, o)
	require.NoError(t, err)
	t.Cleanup(func() { a.Close() })
	return a
}

func opened(t *testing.T, fs storage.FS, name string, o blosc2.Options) *blosc2.NDArray {
	t.Helper()
	c, err := blosc2.Open(t.Context(), fs, name, o)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c.(*blosc2.NDArray)
}

// all is n items of one value.
func all(n int, value int32) []byte {
	var b []byte
	for range n {
		b = binary.LittleEndian.AppendUint32(b, uint32(value))
	}
	return b
}

// Every exclusive lock counts up once, shared ones do not, and every other
// handle that locks sees one change.
func TestCounter(t *testing.T) {
	ctx := t.Context()
	fs, l := storage.NewMemoryFS(0), storage.NewMemoryLocker()
	a := numbers(t, fs, "a.b2nd", lockedOptions(l), 40)
	b := opened(t, fs, "a.b2nd", lockedOptions(l))
	before, tick := counter(t, fs, "a.b2nd.b2lock"), b.SChunk().ChangeTick()
	require.NoError(t, a.SetSlice(ctx, nil, all(40, 7)))
	require.Equal(t, before+1, counter(t, fs, "a.b2nd.b2lock"))
	got, err := b.Slice(ctx, nil, nil)
	require.NoError(t, err)
	require.Equal(t, all(40, 7), got)
	require.Equal(t, before+1, counter(t, fs, "a.b2nd.b2lock"))
	require.Equal(t, tick+1, b.SChunk().ChangeTick())
	changed, err := b.Refresh(ctx)
	require.NoError(t, err)
	require.False(t, changed)
	// T9 of the peer: nothing done under the lock changes nothing.
	require.NoError(t, a.HoldingLock(ctx, func(context.Context, *blosc2.NDArray) error { return nil }))
	require.Equal(t, before+2, counter(t, fs, "a.b2nd.b2lock"))
	changed, err = b.Refresh(ctx)
	require.NoError(t, err)
	require.False(t, changed)
	require.Equal(t, tick+1, b.SChunk().ChangeTick())
}

// T1 and T2 of the peer: metadata set by one handle after another appended.
func TestStaleHandlesWriteWhatIsThere(t *testing.T) {
	ctx := t.Context()
	fs, l := storage.NewMemoryFS(0), storage.NewMemoryLocker()
	s, err := blosc2.CreateSChunk(ctx, fs, "s", blosc2.Spec{ChunkSize: 40, Meta: []blosc2.Metalayer{{Name: "m", Value: []byte("aaaa")}}}, lockedOptions(l))
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.AppendChunk(ctx, all(10, 0)))
	c, err := blosc2.Open(ctx, fs, "s", lockedOptions(l))
	require.NoError(t, err)
	defer c.Close()
	stale := c.(*blosc2.SChunk)
	for i := range int32(20) {
		require.NoError(t, s.AppendChunk(ctx, all(10, i+1)))
		require.NoError(t, stale.SetMetalayer(ctx, "m", []byte{'b', 'b', 'b', byte(i)}))
		require.NoError(t, s.AppendChunk(ctx, all(10, -i)))
		require.NoError(t, stale.SetVLValue(ctx, "v", []byte{byte(i)}))
		has, err := s.HasVL(ctx, "v")
		require.NoError(t, err)
		require.True(t, has)
	}
	_, err = s.Refresh(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 41, s.NumChunks())
	v, err := s.VLValue(ctx, "v")
	require.NoError(t, err)
	require.Equal(t, []byte{19}, v)
	m, err := s.Metalayer("m")
	require.NoError(t, err)
	require.Equal(t, "bbb\x13", string(m))
}

func TestHolding(t *testing.T) {
	fs, l := storage.NewMemoryFS(0), storage.NewMemoryLocker()
	a := numbers(t, fs, "a", lockedOptions(l), 40)
	b := opened(t, fs, "a", lockedOptions(l))
	o := lockedOptions(l)
	o.LockTimeout = 10 * time.Millisecond
	hasty := opened(t, fs, "a", o) // only for what has to fail: the time may be over before it looks
	ctx := t.Context()

	t.Run("keeps others out", func(t *testing.T) {
		var kept *blosc2.NDArray
		err := a.HoldingLock(ctx, func(ctx context.Context, held *blosc2.NDArray) error {
			kept = held
			_, err := hasty.Slice(context.Background(), nil, nil)
			require.ErrorIs(t, err, fault.ErrLockTimeout)
			require.ErrorIs(t, hasty.SetSlice(context.Background(), nil, all(40, 1)), fault.ErrLockTimeout)
			// Whoever would wait for himself is told.
			_, err = a.Slice(ctx, nil, nil)
			require.ErrorIs(t, err, fault.ErrLocked)
			require.ErrorIs(t, a.Resize(ctx, []int64{50}), fault.ErrLocked)
			require.ErrorIs(t, b.Resize(ctx, []int64{50}), fault.ErrLocked)
			require.NoError(t, held.SetSlice(ctx, nil, all(40, 2)))
			require.NoError(t, held.Close()) // is not to close
			return held.HoldingLock(ctx, func(ctx context.Context, inner *blosc2.NDArray) error {
				return inner.SetSlice(ctx, []blosc2.Span{{Start: 0, Stop: 1}}, all(1, 3))
			})
		})
		require.NoError(t, err)
		_, err = kept.Slice(ctx, nil, nil)
		require.ErrorIs(t, err, fault.ErrClosed)
		require.ErrorIs(t, kept.SetSlice(ctx, nil, all(40, 1)), fault.ErrClosed)
		got, err := b.Slice(ctx, nil, nil)
		require.NoError(t, err)
		require.Equal(t, append(all(1, 3), all(39, 2)...), got)
	})
	t.Run("shared", func(t *testing.T) {
		require.NoError(t, a.HoldingSharedLock(ctx, func(ctx context.Context, held *blosc2.NDArray) error {
			_, err := b.Slice(ctx, nil, nil)
			require.NoError(t, err)
			_, err = b.Slice(context.Background(), nil, nil)
			require.NoError(t, err)
			require.ErrorIs(t, hasty.SetSlice(context.Background(), nil, all(40, 1)), fault.ErrLockTimeout)
			require.ErrorIs(t, held.SetSlice(ctx, nil, all(40, 1)), fault.ErrLocked)
			require.ErrorIs(t, a.SetSlice(ctx, nil, all(40, 1)), fault.ErrLocked)
			require.ErrorIs(t, held.HoldingLock(ctx, func(context.Context, *blosc2.NDArray) error { return nil }), fault.ErrLocked)
			return nil
		}))
	})
	t.Run("released by errors and panics", func(t *testing.T) {
		failed := errors.New("failed")
		require.ErrorIs(t, a.HoldingLock(ctx, func(context.Context, *blosc2.NDArray) error { return failed }), failed)
		require.PanicsWithValue(t, "p", func() {
			_ = a.HoldingLock(ctx, func(context.Context, *blosc2.NDArray) error { panic("p") })
		})
		require.NoError(t, b.SetSlice(ctx, nil, all(40, 9)))
	})
	t.Run("fresh", func(t *testing.T) {
		require.NoError(t, b.Resize(ctx, []int64{60}))
		require.NoError(t, a.HoldingLock(ctx, func(ctx context.Context, held *blosc2.NDArray) error {
			require.Equal(t, []int64{60}, held.Shape().Shape)
			return nil
		}))
	})
	t.Run("cancelled", func(t *testing.T) {
		require.NoError(t, a.HoldingLock(ctx, func(context.Context, *blosc2.NDArray) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			_, err := b.Slice(ctx, nil, nil)
			require.ErrorIs(t, err, fault.ErrCancelled)
			return nil
		}))
	})
	t.Run("nothing without locking", func(t *testing.T) {
		u := opened(t, fs, "a", blosc2.Options{Write: true})
		before := counter(t, fs, "a.b2lock")
		require.NoError(t, u.HoldingLock(ctx, func(ctx context.Context, held *blosc2.NDArray) error {
			_, err := u.Slice(ctx, nil, nil)
			require.NoError(t, err)
			return held.SetSlice(ctx, nil, all(60, 4))
		}))
		require.Equal(t, before, counter(t, fs, "a.b2lock"))
	})
}

// A read of many chunks is of one state: the peer mixes them, see
// blosc2_torn.py. With locking, and without.
func TestReadsAreWhole(t *testing.T) {
	for _, locking := range []blosc2.Locking{blosc2.Locked, blosc2.Unlocked} {
		ctx := t.Context()
		fs, l := storage.NewMemoryFS(0), storage.NewMemoryLocker()
		o := lockedOptions(l)
		o.Locking = locking
		w := numbers(t, fs, "a", o, 200)
		var done, readers sync.WaitGroup
		stop := make(chan struct{})
		for range 3 {
			r := opened(t, fs, "a", o)
			readers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						runtime.Gosched() // for where there is one thread, and no preemption
					}
					b, err := r.Slice(ctx, nil, nil)
					if err != nil {
						t.Error(err)
						return
					}
					for i := 4; i < len(b); i++ {
						if b[i] != b[i-4] {
							t.Errorf("item %d is of another state", i/4)
							return
						}
					}
				}
			})
		}
		done.Go(func() {
			for i := range int32(60) {
				if err := w.SetSlice(ctx, nil, all(200, i)); err != nil {
					t.Error(err)
				}
			}
		})
		done.Wait()
		close(stop)
		readers.Wait()
	}
}

// Two handles, many goroutines: nothing is lost.
func TestIncrements(t *testing.T) {
	ctx := t.Context()
	fs, l := storage.NewMemoryFS(0), storage.NewMemoryLocker()
	a := numbers(t, fs, "a", lockedOptions(l), 10)
	b := opened(t, fs, "a", lockedOptions(l))
	var wg sync.WaitGroup
	for g := range 4 {
		h := a
		if g%2 == 1 {
			h = b
		}
		wg.Go(func() {
			for range 100 {
				err := h.HoldingLock(ctx, func(ctx context.Context, held *blosc2.NDArray) error {
					one := []blosc2.Span{{Start: 3, Stop: 4}}
					v, err := held.Slice(ctx, one, nil)
					if err != nil {
						return err
					}
					return held.SetSlice(ctx, one, all(1, int32(binary.LittleEndian.Uint32(v))+1))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, err := a.Slice(ctx, []blosc2.Span{{Start: 3, Stop: 4}}, nil)
	require.NoError(t, err)
	require.Equal(t, all(1, 400), got)
}

// What cannot be locked is refused, or left unlocked where that was asked for.
func TestLockingRefused(t *testing.T) {
	ctx := t.Context()
	fs := storage.NewMemoryFS(0)
	numbers(t, fs, "a", blosc2.Options{}, 10).Close()
	_, err := blosc2.Open(ctx, fs, "a", blosc2.Options{Locking: blosc2.Locked}) // nothing to lock with
	require.ErrorIs(t, err, fault.ErrInvalid)
	f, err := fs.Open(ctx, "a", storage.OpenRead)
	require.NoError(t, err)
	defer f.Close()
	o := lockedOptions(storage.NewMemoryLocker())
	o.Write = false
	_, err = blosc2.OpenFile(ctx, f, "a", o)
	require.ErrorIs(t, err, fault.ErrInvalid)
	o.Locking = blosc2.LockedIfPossible
	c, err := blosc2.OpenFile(ctx, f, "a", o)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	for value, want := range map[string]blosc2.Locking{"": blosc2.Unlocked, "0": blosc2.Unlocked, "1": blosc2.LockedIfPossible, "no": blosc2.LockedIfPossible} {
		require.Equal(t, want, blosc2.LockingOf(value))
	}
}

// networked is a file system that is on another machine.
type networked struct{ storage.FS }

func (networked) StatFS(context.Context, string) (storage.FSInfo, error) {
	return storage.FSInfo{Kind: "nfs", Network: true}, nil
}

func TestNetworkFileSystemsAreRefused(t *testing.T) {
	fs := networked{storage.NewMemoryFS(0)}
	numbers(t, fs, "a", blosc2.Options{}, 10).Close()
	o := lockedOptions(storage.NewMemoryLocker())
	_, err := blosc2.Open(t.Context(), fs, "a", o)
	require.ErrorIs(t, err, fault.ErrUnsupported)
	require.ErrorContains(t, err, "nfs")
	o.LockNetwork = true
	opened(t, fs, "a", o)
}

// T6 of the peer: the lock's file is removed while handles are open. They
// exclude each other all the same, and the count goes on.
func TestLockIsRemoved(t *testing.T) {
	ctx := t.Context()
	fs, l := storage.NewMemoryFS(0), storage.NewMemoryLocker()
	a := numbers(t, fs, "a", lockedOptions(l), 10)
	b := opened(t, fs, "a", lockedOptions(l))
	for i := range int32(5) {
		require.NoError(t, a.SetSlice(ctx, nil, all(10, i)))
	}
	before := counter(t, fs, "a.b2lock")
	require.NoError(t, fs.Remove(ctx, "a.b2lock"))
	require.NoError(t, a.SetSlice(ctx, nil, all(10, 77)))
	require.Greater(t, counter(t, fs, "a.b2lock"), before)
	got, err := b.Slice(ctx, nil, nil)
	require.NoError(t, err)
	require.Equal(t, all(10, 77), got)

	// While it is held: others may hold the new one, so nothing is published.
	require.NoError(t, a.HoldingLock(ctx, func(ctx context.Context, held *blosc2.NDArray) error {
		require.NoError(t, held.SetSlice(ctx, nil, all(10, 78)))
		require.NoError(t, fs.Remove(ctx, "a.b2lock"))
		require.ErrorIs(t, held.SetSlice(ctx, nil, all(10, 79)), fault.ErrStale)
		return nil
	}))
	got, err = b.Slice(ctx, nil, nil)
	require.NoError(t, err)
	require.Equal(t, all(10, 78), got)
}
