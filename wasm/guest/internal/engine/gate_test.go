package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/wasm/wire"
)

func TestGate(t *testing.T) {
	ctx := context.Background()
	g := gate{limit: 100}
	w, err := g.enter(ctx, 1000)
	require.NoError(t, err)
	require.EqualValues(t, 100, w, "what is over the limit comes in alone")

	in := make(chan int64, 2)
	for _, weight := range []int64{60, 50} {
		go func() {
			w, err := g.enter(ctx, weight)
			if err == nil {
				in <- w
			}
		}()
		until(t, func() bool { g.mu.Lock(); defer g.mu.Unlock(); return len(g.queue) == int(2-weight/60) })
	}
	g.leave(100)
	require.EqualValues(t, 60, <-in, "the first in the queue")
	require.Empty(t, in)
	g.leave(60)
	require.EqualValues(t, 50, <-in)

	stopped, stop := context.WithCancel(ctx)
	left := make(chan error)
	go func() { _, err := g.enter(stopped, 80); left <- err }()
	until(t, func() bool { g.mu.Lock(); defer g.mu.Unlock(); return len(g.queue) == 1 })
	stop()
	require.ErrorIs(t, <-left, context.Canceled)
	g.leave(50)
	require.Zero(t, g.running.Load())
	require.Empty(t, g.queue)

	g.pin(50)
	_, err = g.enter(ctx, 60)
	require.ErrorIs(t, err, fault.ErrLimit, "only results that nobody drops are in the way")
	g.unpin(50)
	_, err = g.enter(ctx, 60)
	require.NoError(t, err)
}

func TestResultsFillMemory(t *testing.T) {
	f, e, array, cache := desk(t)
	e.gate.limit = someBytes // and so 85 KiB for results
	e.gate.pin(e.gate.limit)
	op := e.Start(wire.KindCacheStats, u32s(cache))
	f.settle(e, 1, op)
	_, _, err := f.take(e, op)
	require.ErrorIs(t, err, fault.ErrLimit)
	e.gate.unpin(e.gate.limit)
	_, b, err := f.call(e, wire.KindReadSubchunk, read(array, cache, 0, 1))
	require.NoError(t, err)
	require.Equal(t, want(1), b)

	e.gate.limit = 50
	_, _, err = f.call(e, wire.KindReadRegion, append(read(array, 0, 0, 0), le.AppendUint64(nil, 64)...))
	require.ErrorIs(t, err, fault.ErrLimit, "a region that could never fit")
}

// TestGateUrgent: what weighs nothing passes those that wait.
func TestGateUrgent(t *testing.T) {
	g := gate{limit: 10}
	_, err := g.enter(t.Context(), 10)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := g.enter(ctx, 5)
		left <- err
	}()
	until(t, func() bool { return g.waiting.Load() == 1 })
	weight, err := g.enter(t.Context(), 0)
	require.NoError(t, err)
	g.leave(weight)
	cancel()
	require.ErrorIs(t, <-left, context.Canceled)
}
