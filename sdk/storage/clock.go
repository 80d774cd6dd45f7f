package storage

import (
	"context"
	"sync"
	"time"
)

// ManualClock is a Clock that stands still until it is told to move. Safe
// for concurrent use.
type ManualClock struct {
	mu       sync.Mutex
	now      time.Time
	skipping bool
	slept    []time.Duration
	changed  chan struct{} // closed and replaced at every change
	sleepers int
}

// NewManualClock returns a clock that stands at start.
func NewManualClock(start time.Time) *ManualClock {
	return &ManualClock{now: start, changed: make(chan struct{})}
}

// Now is Clock's.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock and wakes whoever's time has come.
func (c *ManualClock) Advance(d time.Duration) {
	c.change(func() { c.now = c.now.Add(d) })
}

// Skip makes every sleep move the clock by itself and return at once.
func (c *ManualClock) Skip() { c.change(func() { c.skipping = true }) }

// Slept returns the lengths of all sleeps so far, in order of their start.
func (c *ManualClock) Slept() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]time.Duration(nil), c.slept...)
}

// Await returns when at least n goroutines sleep, or with the context's
// error.
func (c *ManualClock) Await(ctx context.Context, n int) error {
	return c.until(ctx, func() bool { return c.sleepers >= n })
}

// Sleep is Clock's.
func (c *ManualClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var due time.Time
	c.change(func() {
		c.slept = append(c.slept, d)
		if c.skipping {
			c.now = c.now.Add(d)
		}
		due = c.now.Add(d)
		c.sleepers++
	})
	defer c.change(func() { c.sleepers-- })
	return c.until(ctx, func() bool { return c.skipping || !c.now.Before(due) })
}

func (c *ManualClock) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *ManualClock) until(ctx context.Context, done func() bool) error {
	for {
		c.mu.Lock()
		ok, changed := done(), c.changed
		c.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}
