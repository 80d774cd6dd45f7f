package storagetest

import (
	"context"
	"sync"
	"time"

	"github.com/gridhold/gridhold/sdk/storage"
)

// Gate holds every read of a store back until it is let through: a test
// decides what happens while a load is out. Safe for concurrent use.
type Gate struct {
	inner   storage.Store
	mu      sync.Mutex
	changed sync.Cond
	open    bool
	permits int
	waiting int
}

// Shut wraps a store with a closed gate.
func Shut(inner storage.Store) *Gate {
	g := &Gate{inner: inner}
	g.changed.L = &g.mu
	return g
}

// Open lets all reads through, waiting ones and later ones.
func (g *Gate) Open() { g.set(func() { g.open = true }) }

// Close holds later reads back again.
func (g *Gate) Close() { g.set(func() { g.open = false }) }

// Let lets n reads through.
func (g *Gate) Let(n int) { g.set(func() { g.permits += n }) }

// Await returns when at least n reads are waiting, or fails with the
// context's error.
func (g *Gate) Await(ctx context.Context, n int) error {
	return g.until(ctx, func() bool { return g.waiting >= n })
}

// ReadRanges is Store's.
func (g *Gate) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	if err := g.pass(ctx, key); err != nil {
		return nil, storage.ObjectInfo{}, err
	}
	return g.inner.ReadRanges(ctx, key, rs, want)
}

// ReadInto is BufferReader's.
func (g *Gate) ReadInto(ctx context.Context, key string, off int64, dst []byte, want storage.Version) (int, storage.ObjectInfo, error) {
	if err := g.pass(ctx, key); err != nil {
		return 0, storage.ObjectInfo{}, err
	}
	return storage.ReadInto(ctx, g.inner, key, off, dst, want)
}

// List is Lister's. It does not wait.
func (g *Gate) List(ctx context.Context, prefix string) ([]string, error) {
	return listOf(ctx, g.inner, prefix)
}

func (g *Gate) pass(ctx context.Context, key string) error {
	g.set(func() { g.waiting++ })
	defer g.set(func() { g.waiting-- })
	err := g.until(ctx, func() bool {
		if g.open {
			return true
		}
		if g.permits > 0 {
			g.permits--
			return true
		}
		return false
	})
	if err != nil {
		return storage.Ended(ctx, key)
	}
	return nil
}

func (g *Gate) set(f func()) {
	g.mu.Lock()
	f()
	g.mu.Unlock()
	g.changed.Broadcast()
}

func (g *Gate) until(ctx context.Context, done func() bool) error {
	stop := context.AfterFunc(ctx, func() { g.set(func() {}) })
	defer stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if done() {
			return nil
		}
		g.changed.Wait()
	}
}

// Delayed is a store whose every read takes a latency of a clock.
type Delayed struct {
	inner   storage.Store
	clock   storage.Clock
	latency time.Duration
}

// Delay wraps a store. With a storage.ManualClock the latency is the test's
// to give, with the system's clock it is real.
func Delay(inner storage.Store, clock storage.Clock, latency time.Duration) *Delayed {
	return &Delayed{inner, clock, latency}
}

// ReadRanges is Store's.
func (d *Delayed) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	if d.clock.Sleep(ctx, d.latency) != nil {
		return nil, storage.ObjectInfo{}, storage.Ended(ctx, key)
	}
	return d.inner.ReadRanges(ctx, key, rs, want)
}

// List is Lister's. It does not wait.
func (d *Delayed) List(ctx context.Context, prefix string) ([]string, error) {
	return listOf(ctx, d.inner, prefix)
}
