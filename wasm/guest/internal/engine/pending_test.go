package engine

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
	"github.com/gridhold/gridhold/wasm/wire"
)

// TestManyInFlight has 32 operations wait at once, answered in random order
// and numbers: one index load a shard on a cold cache, none on a warm one.
func TestManyInFlight(t *testing.T) {
	f, e, array, cache := desk(t)
	rec := storagetest.Record(shards())
	f.stores[1] = rec
	f.later = true
	for round := range 3 {
		f.mu.Lock()
		f.calls["read_ranges"] = 0
		f.mu.Unlock()
		var ops []int32
		for i := range int64(32) {
			op := e.Start(wire.KindReadSubchunk, read(array, cache, 0, i%12))
			require.Positive(t, op)
			ops = append(ops, op)
		}
		f.settle(e, 1+round, ops...)
		for i, op := range ops {
			_, b, err := f.take(e, op)
			require.NoError(t, err)
			require.Equal(t, want(int64(i)%12), b)
		}
		var loads = 3
		if round > 0 {
			loads = 0
		}
		stored := 32 - 2*2 - 2 // subchunks 3, 7 and 11 are empty and never read
		require.Equal(t, loads+stored-2, f.calls["read_ranges"], "round %d", round)
	}
	require.Zero(t, e.waiting())
}

func TestCancelReleased(t *testing.T) {
	f, e, array, cache := desk(t)
	f.later = true
	op := e.Start(wire.KindReadSubchunk, read(array, cache, 0, 0))
	until(t, func() bool { e.Run(0, 0); return e.Box.Waiting == 1 })
	require.Zero(t, e.Cancel(uint32(op)))
	f.settle(e, 0, op)
	_, _, err := f.take(e, op)
	require.ErrorIs(t, err, fault.ErrCancelled)
	until(t, func() bool { e.Run(0, 0); return e.Box.Waiting == 0 })
	require.Zero(t, e.Box.Orphans)
	require.Empty(t, f.queue)

	later := e.Start(wire.KindReadSubchunk, read(array, cache, 0, 0))
	f.settle(e, 1, later)
	_, b, err := f.take(e, later)
	require.NoError(t, err, "a cancelled load leaves nothing behind")
	require.Equal(t, want(0), b)
}

// TestCancelBusy cancels while another thread of the host's may be writing:
// the operation ends at once, the buffers stay pinned until the completion.
func TestCancelBusy(t *testing.T) {
	f, e, array, cache := desk(t)
	f.later, f.busy = true, true
	// The first read waits for the index, whose buffers are the store's.
	op := e.Start(wire.KindReadSubchunk, read(array, cache, 0, 0))
	until(t, func() bool { e.Run(0, 0); return e.Box.Waiting == 1 })
	require.Zero(t, e.Cancel(uint32(op)))
	f.settle(e, 0, op)
	_, _, err := f.take(e, op)
	require.ErrorIs(t, err, fault.ErrCancelled)
	until(t, func() bool { e.Run(0, 0); return e.Box.Orphans == 1 })
	require.EqualValues(t, 1, e.Box.Waiting)
	n := f.answerSome(e, 1)
	require.EqualValues(t, 1, n)
	e.Run(n, 0)
	require.Zero(t, e.Box.Orphans)
	require.Zero(t, e.Box.Waiting)

	// A read of data goes into memory of the core's: its goroutine stays
	// until the completion, the operation does not.
	f.busy = false
	warm := e.Start(wire.KindReadSubchunk, read(array, cache, 0, 0))
	f.settle(e, 1, warm)
	_, _, err = f.take(e, warm)
	require.NoError(t, err)
	f.busy = true
	op = e.Start(wire.KindReadSubchunk, read(array, cache, 0, 1))
	until(t, func() bool { e.Run(0, 0); return e.Box.Waiting == 1 })
	require.Zero(t, e.Cancel(uint32(op)))
	f.settle(e, 0, op)
	_, _, err = f.take(e, op)
	require.ErrorIs(t, err, fault.ErrCancelled)
	require.EqualValues(t, 1, e.Box.Waiting)
	e.Run(f.answerSome(e, 1), 0)
	require.Zero(t, e.Box.Waiting)
	until(t, func() bool { e.Run(0, 0); return e.gate.running.Load() == 0 })
}

func TestCompletionsOfUnknownTokens(t *testing.T) {
	f, e, array, cache := desk(t)
	f.later = true
	op := e.Start(wire.KindReadSubchunk, read(array, cache, 0, 0))
	until(t, func() bool { e.Run(0, 0); return e.Box.Waiting == 1 })
	for i, token := range []uint32{0, 77, 1 << 30, ^uint32(0)} {
		e.CQ[i] = wire.Completion{Token: token, N: 5}
	}
	e.Run(4, 0)
	require.EqualValues(t, 1, e.Box.Waiting)
	f.settle(e, 1, op)
	n := f.answerSome(e, 1)
	require.Zero(t, n)
	_, b, err := f.take(e, op)
	require.NoError(t, err)
	require.Equal(t, want(0), b)
	e.Run(^uint32(0), 0) // more than there is room for is cut
}

func TestDropWhileRunning(t *testing.T) {
	f, e, array, cache := desk(t)
	f.later = true
	op := e.Start(wire.KindReadSubchunk, read(array, cache, 0, 0))
	until(t, func() bool { e.Run(0, 0); return e.Box.Waiting == 1 })
	e.Drop(uint32(op))
	until(t, func() bool { e.Run(0, 0); return e.ops.Len() == 0 })
	require.Zero(t, e.Box.Done, "a dropped operation is not listed")
	require.Zero(t, e.live.Load())
}

func TestTickStops(t *testing.T) {
	f, e, array, _ := desk(t)
	f.tired = true
	_, _, err := f.call(e, wire.KindReadRegion, append(read(array, 0, 0, 0), le.AppendUint64(nil, 64)...))
	require.ErrorIs(t, err, fault.ErrCancelled)
	require.NotZero(t, f.calls["tick"])
	f.tired = false
	_, b, err := f.call(e, wire.KindReadRegion, append(read(array, 0, 0, 0), le.AppendUint64(nil, 4)...))
	require.NoError(t, err)
	require.Equal(t, want(0), b)
}

func TestReentered(t *testing.T) {
	f, e, array, _ := desk(t)
	f.damage = func(_ *ReadCall, n int32) int32 {
		if got := e.Run(0, 0); got != wire.Reentered {
			t.Errorf("got %d", got)
		}
		if _, r := e.Call(wire.KindCacheStats, nil); r != nil || e.Box.Status != wire.Reentered {
			t.Errorf("got %v, status %d", r, e.Box.Status)
		}
		return n
	}
	_, _, err := f.call(e, wire.KindReadSubchunk, read(array, 0, 0, 0))
	require.NoError(t, err)
}

func TestMoreEndedThanRoom(t *testing.T) {
	f, e, array, cache := desk(t)
	var ops []int32
	for range doneCap + 10 {
		ops = append(ops, e.Start(wire.KindReadSubchunk, read(array, cache, 0, 0)))
	}
	seen := map[uint32]bool{}
	var more bool
	until(t, func() bool {
		more = e.Run(0, 0) == wire.More || more
		for _, id := range e.Done[:e.Box.Done] {
			require.False(t, seen[id], "listed twice")
			seen[id] = true
		}
		return len(seen) == len(ops)
	})
	for _, op := range ops {
		_, _, err := f.take(e, op)
		require.NoError(t, err)
	}
}

// A read of a container can be started while another operation takes over
// what changed there: the export may not wait for that one's import.
func TestContainerReadWhileItChanges(t *testing.T) {
	frame, err := os.ReadFile("../../../../testdata/blosc2/ndim/2d.b2nd")
	require.NoError(t, err)
	f := newFake(t)
	objects := storage.NewMemory()
	objects.Set("a.b2nd", frame)
	f.stores[1] = objects
	e := New(f)
	opened, _, err := f.call(e, wire.KindContainerOpen, []byte(`{"store":{"kind":"host","id":1},"name":"a.b2nd"}`))
	require.NoError(t, err)
	f.later = true
	refresh := e.Start(wire.KindContainerDo, fmt.Appendf(nil, `{"container":%d,"do":"refresh"}`, opened.Object))
	require.Positive(t, refresh)
	until(t, func() bool { e.Run(0, 0); return e.Box.Waiting == 1 })
	slice := e.Start(wire.KindContainerRead, u32s(opened.Object, wire.ReadSlice, 0)) // it would wait for ever for what can only come after it
	require.Positive(t, slice)
	f.settle(e, 1, refresh, slice)
	_, b, err := f.take(e, slice)
	require.NoError(t, err)
	require.Len(t, b, 45*67*4)
}
