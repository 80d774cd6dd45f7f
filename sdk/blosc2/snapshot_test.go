package blosc2_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// A snapshot stays what it is while the frame is written to, without a lock,
// also where chunks are files.
func TestSnapshot(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		ctx := t.Context()
		fs, l := storage.NewMemoryFS(0), storage.NewMemoryLocker()
		spec := blosc2.Spec{Sparse: sparse, Params: blosc.Params{Codec: blosc.LZ4, Level: 1}}
		a, err := blosc2.CreateArray(ctx, fs, "a", blosc2.Shape{Shape: []int64{40}, Chunks: []int64{10}, Blocks: []int64{10}, DType: "<i4"}, spec, lockedOptions(l))
		require.NoError(t, err)
		defer a.Close()
		random := all(40, 0x1234567)
		for i := range random {
			random[i] += byte(i * i)
		}
		require.NoError(t, a.SetSlice(ctx, nil, random))
		snap, err := a.Snapshot(ctx)
		require.NoError(t, err)
		for i := range int32(10) {
			require.NoError(t, a.SetSlice(ctx, nil, all(40, i)))
			require.NoError(t, a.HoldingLock(ctx, func(context.Context, *blosc2.NDArray) error {
				got, err := snap.Slice(ctx, nil, nil)
				require.NoError(t, err)
				require.Equal(t, random, got)
				return nil
			}))
		}
		require.NoError(t, a.Resize(ctx, []int64{20}))
		got, err := snap.Slice(ctx, nil, nil)
		require.NoError(t, err)
		require.Equal(t, random, got)
		require.Equal(t, []int64{40}, snap.Shape().Shape)
		require.ErrorIs(t, snap.SetSlice(ctx, nil, random), fault.ErrReadOnly)
		names, err := fs.List(ctx, "")
		require.NoError(t, err)
		if sparse {
			names, err = fs.List(ctx, "a")
			require.NoError(t, err)
			require.Greater(t, len(names), 4)
		}
		require.NoError(t, snap.Close())
		if sparse { // what only the snapshot had is gone with it
			names, err = fs.List(ctx, "a")
			require.NoError(t, err)
			require.LessOrEqual(t, len(names), 5, "%v", names) // 2 chunks, the index, the lock, and the file of the highest number
		}
		_, err = snap.Slice(ctx, nil, nil)
		require.ErrorIs(t, err, fault.ErrClosed)
	}
}

// Compact waits for the snapshots of this process.
func TestCompactWaitsForSnapshots(t *testing.T) {
	ctx := t.Context()
	fs, l := storage.NewMemoryFS(0), storage.NewMemoryLocker()
	a := numbers(t, fs, "a", lockedOptions(l), 40)
	for i := range int32(5) {
		require.NoError(t, a.SetSlice(ctx, nil, all(40, i)))
	}
	snap, err := a.Snapshot(ctx)
	require.NoError(t, err)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, a.SChunk().Compact(cancelled), fault.ErrCancelled)
	done := make(chan error)
	go func() { done <- a.SChunk().Compact(ctx) }()
	got, err := snap.Slice(ctx, nil, nil)
	require.NoError(t, err)
	require.Equal(t, all(40, 4), got)
	select {
	case <-done:
		t.Fatal("it did not wait")
	default:
	}
	require.NoError(t, snap.Close())
	require.NoError(t, <-done)
	got, err = a.Slice(ctx, nil, nil)
	require.NoError(t, err)
	require.Equal(t, all(40, 4), got)
}

// Each state that a frame is left in is told of.
func TestWatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fs, l := storage.NewMemoryFS(0), storage.NewMemoryLocker()
	w := numbers(t, fs, "a", lockedOptions(l), 10)
	r := opened(t, fs, "a", lockedOptions(l))
	told, last := 0, uint64(0)
	for c, err := range r.Watch(ctx) {
		if errors.Is(err, fault.ErrCancelled) {
			break
		}
		require.NoError(t, err)
		require.Equal(t, int64(10+told), c.Shape[0])
		require.True(t, told == 0 || c.Tick > last)
		last = c.Tick
		if told++; told == 5 {
			cancel()
			continue
		}
		require.NoError(t, w.Append(ctx, 0, all(1, 1)))
	}
	require.Equal(t, 5, told)
}

// A snapshot of a store stays what it is: keys, leaves that are files or
// embedded, and metadata, while they are replaced, removed and written to.
func TestStoreSnapshot(t *testing.T) {
	for name, threshold := range map[string]int64{"files": 0, "embedded": -1} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			fs, l := storage.NewMemoryFS(0), storage.NewMemoryLocker()
			c, err := blosc2.CreateStore(ctx, fs, "t.b2d", blosc2.StoreSpec{Tree: true, Threshold: threshold}, lockedOptions(l))
			require.NoError(t, err)
			tree := c.(*blosc2.TreeStore)
			for i, key := range []string{"/a", "/b/c", "/b/d"} {
				require.NoError(t, tree.Put(ctx, key, leafArray(t, fs, "leaf"+key[len(key)-1:], 10+i)))
			}
			require.NoError(t, tree.SetVLObject(ctx, "/b", "n", int64(1)))
			snap, err := tree.Snapshot(ctx)
			require.NoError(t, err)
			open, err := snap.Get(ctx, "/a")
			require.NoError(t, err)

			if threshold == 0 {
				leaf, err := tree.Get(ctx, "/a")
				require.NoError(t, err)
				require.NoError(t, leaf.(*blosc2.NDArray).SetSlice(ctx, nil, make([]byte, 10)))
				require.NoError(t, leaf.(*blosc2.NDArray).SChunk().Compact(ctx))
				require.NoError(t, leaf.Close())
			}
			require.NoError(t, tree.Put(ctx, "/b/c", leafArray(t, fs, "other", 99)))
			require.NoError(t, tree.DictStore().Delete(ctx, "/b/d"))
			require.NoError(t, tree.Put(ctx, "/new", leafArray(t, fs, "new", 5)))
			require.NoError(t, tree.SetVLObject(ctx, "/b", "n", int64(2)))
			require.NoError(t, tree.Close())

			keys, err := snap.Keys(ctx)
			require.NoError(t, err)
			require.Equal(t, []string{"/a", "/b", "/b/c", "/b/d"}, keys)
			for i, key := range []string{"/a", "/b/c", "/b/d"} {
				got, err := readKey(t, snap, key)
				require.NoError(t, err)
				require.Equal(t, numbersOf(10+i), got, key)
			}
			_, err = snap.Get(ctx, "/new")
			require.ErrorIs(t, err, fault.ErrNotFound)
			meta, err := snap.VLMeta(ctx, "/b")
			require.NoError(t, err)
			n, err := meta.VLObject(ctx, "n")
			require.NoError(t, err)
			require.Equal(t, int64(1), n)
			require.NoError(t, meta.Close())
			require.ErrorIs(t, snap.Put(ctx, "/x", open), fault.ErrReadOnly)
			require.ErrorIs(t, snap.SetVLObject(ctx, "/b", "n", int64(3)), fault.ErrReadOnly)
			if threshold == 0 {
				require.ErrorIs(t, open.(*blosc2.NDArray).SetSlice(ctx, nil, make([]byte, 10)), fault.ErrReadOnly)
			}
			_, err = blosc2.Verify(ctx, snap, func(d blosc2.Damage) { t.Error(d) })
			require.NoError(t, err)

			require.NoError(t, snap.DictStore().ToB2Z(ctx, fs, "", false))
			packed, err := blosc2.Open(ctx, fs, "t.b2z", blosc2.Options{})
			require.NoError(t, err)
			keys, err = packed.(*blosc2.TreeStore).Keys(ctx)
			require.NoError(t, err)
			require.Equal(t, []string{"/a", "/b", "/b/c", "/b/d"}, keys)
			for i, key := range []string{"/a", "/b/c", "/b/d"} {
				got, err := readKey(t, packed.(*blosc2.TreeStore), key)
				require.NoError(t, err)
				require.Equal(t, numbersOf(10+i), got, key)
			}
			meta, err = packed.(*blosc2.TreeStore).VLMeta(ctx, "/b")
			require.NoError(t, err)
			n, err = meta.VLObject(ctx, "n")
			require.NoError(t, err)
			require.Equal(t, int64(1), n)
			require.NoError(t, errors.Join(meta.Close(), packed.Close(), snap.Close()))
			if threshold == 0 { // a leaf that is open goes on
				got, err := whole(t, open)
				require.NoError(t, err)
				require.Equal(t, numbersOf(10), got)
			}
			require.NoError(t, open.Close())
		})
	}
}
