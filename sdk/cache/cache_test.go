package cache_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/cache"
	"github.com/gridhold/gridhold/sdk/fault"
)

func ints(budget int64) *cache.Cache[string, int] {
	return cache.New[string](budget, func(v int) int64 { return int64(v) })
}

func value(v int) func(context.Context) (int, error) {
	return func(context.Context) (int, error) { return v, nil }
}

func TestOneLoadHoweverManyAsk(t *testing.T) {
	c := ints(100)
	gate := make(chan struct{})
	var loads atomic.Int32
	var wg sync.WaitGroup
	for range 32 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			v, err := c.Get(t.Context(), "k", func(context.Context) (int, error) {
				loads.Add(1)
				<-gate
				return 7, nil
			})
			if v != 7 || err != nil {
				t.Errorf("got %d, %v", v, err)
			}
		}()
	}
	for c.Stats().Misses < 32 { // all wait for the one load
		runtime.Gosched() // a guest has one thread; each goroutine counts its miss before it waits
	}
	close(gate)
	wg.Wait()
	require.EqualValues(t, 1, loads.Load())
	require.Equal(t, cache.Stats{Misses: 32, Loads: 1, Entries: 1, Bytes: 7, Budget: 100}, c.Stats())
}

func TestFailedLoadIsNotKept(t *testing.T) {
	c := ints(100)
	boom := errors.New("503")
	_, err := c.Get(t.Context(), "k", func(context.Context) (int, error) { return 0, boom })
	require.ErrorIs(t, err, boom)
	require.Zero(t, c.Stats().Entries)
	v, err := c.Get(t.Context(), "k", value(3))
	require.NoError(t, err)
	require.Equal(t, 3, v)
}

func TestPanickedLoadSettlesItsWaiters(t *testing.T) {
	c := ints(100)
	_, err := c.Get(t.Context(), "k", func(context.Context) (int, error) { panic("bad day") })
	require.ErrorIs(t, err, fault.ErrInternal)
	require.Contains(t, err.Error(), "bad day")
	_, err = c.Get(t.Context(), "k", value(3))
	require.NoError(t, err)
}

// Report 27: the caller that started the load is cancelled, another waits.
func TestLoadOutlivesTheCallerThatStartedIt(t *testing.T) {
	c := ints(100)
	first, cancel := context.WithCancel(t.Context())
	gate, started := make(chan struct{}), make(chan struct{})
	firstErr := make(chan error)
	go func() {
		_, err := c.Get(first, "k", func(ctx context.Context) (int, error) {
			close(started)
			select {
			case <-gate:
				return 5, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
		firstErr <- err
	}()
	<-started
	second := make(chan int)
	go func() {
		v, _ := c.Get(t.Context(), "k", value(-1))
		second <- v
	}()
	for c.Stats().Misses < 2 {
		runtime.Gosched()
	}
	cancel()
	require.ErrorIs(t, <-firstErr, context.Canceled)
	close(gate)
	require.Equal(t, 5, <-second)
	require.EqualValues(t, 1, c.Stats().Loads)
}

func TestLoadEndsWithItsLastWaiter(t *testing.T) {
	c := ints(100)
	ctx, cancel := context.WithCancel(t.Context())
	started, ended := make(chan struct{}), make(chan struct{})
	go func() {
		<-started
		cancel()
	}()
	_, err := c.Get(ctx, "k", func(ctx context.Context) (int, error) {
		close(started)
		<-ctx.Done()
		close(ended)
		return 9, nil // too late: nobody asked for it any more
	})
	require.ErrorIs(t, err, context.Canceled)
	<-ended
	v, err := c.Get(t.Context(), "k", value(4))
	require.NoError(t, err)
	require.Equal(t, 4, v)
}

func TestBudgetEvictsWhatWasNotUsed(t *testing.T) {
	c := ints(10)
	get := func(k string, v int) {
		_, err := c.Get(t.Context(), k, value(v))
		require.NoError(t, err)
	}
	get("a", 4)
	get("b", 4)
	get("a", 4) // used again
	get("c", 4)
	_, ok := c.Peek("b")
	require.False(t, ok, "b was used least recently")
	_, ok = c.Peek("a")
	require.True(t, ok)
	require.LessOrEqual(t, c.Stats().Bytes, int64(10))
	get("huge", 11) // answered, not kept
	_, ok = c.Peek("huge")
	require.False(t, ok)
	get("transient", -1)
	_, ok = c.Peek("transient")
	require.False(t, ok)
}

func TestBudgetHoldsWhenAllIsUsed(t *testing.T) {
	c := ints(10)
	for i := range 100 {
		k := string(rune('a' + i%26))
		_, err := c.Get(t.Context(), k, value(3))
		require.NoError(t, err)
		c.Peek(k)
		require.LessOrEqual(t, c.Stats().Bytes, int64(10))
	}
}

func TestRemoveDuringALoad(t *testing.T) {
	c := ints(100)
	gate, started, got := make(chan struct{}), make(chan struct{}), make(chan int)
	go func() {
		v, _ := c.Get(t.Context(), "k", func(context.Context) (int, error) {
			close(started)
			<-gate
			return 5, nil
		})
		got <- v
	}()
	<-started
	c.Clear()
	close(gate)
	require.Equal(t, 5, <-got, "who waits is answered")
	_, ok := c.Peek("k")
	require.False(t, ok, "what was loaded before Clear is not kept")
}

func TestRemoveIf(t *testing.T) {
	c := ints(100)
	_, err := c.Get(t.Context(), "k", value(5))
	require.NoError(t, err)
	c.RemoveIf("k", func(v int) bool { return v == 6 })
	require.EqualValues(t, 1, c.Stats().Entries)
	c.RemoveIf("k", func(v int) bool { return v == 5 })
	require.Zero(t, c.Stats().Entries)
	require.Zero(t, c.Stats().Bytes)
}

func TestEndedContextLoadsNothing(t *testing.T) {
	c := ints(100)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Get(ctx, "k", value(5))
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, c.Stats().Loads)
}

func TestWarmReadDoesNotWaitForALoad(t *testing.T) {
	c := ints(100)
	_, err := c.Get(t.Context(), "warm", value(5))
	require.NoError(t, err)
	gate, started, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		c.Get(t.Context(), "cold", func(context.Context) (int, error) {
			close(started)
			<-gate
			return 5, nil
		})
	}()
	<-started
	v, err := c.Get(t.Context(), "warm", value(-1)) // would hang if it waited
	require.NoError(t, err)
	require.Equal(t, 5, v)
	close(gate)
	<-done
}

func BenchmarkWarm(b *testing.B) {
	c := ints(100)
	c.Get(b.Context(), "k", value(1))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.Peek("k")
		}
	})
}
