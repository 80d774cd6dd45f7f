package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
)

// gate admits operations by the bytes that they will take, since a guest
// that runs out of memory is lost with everything in it. What is running
// and what lies in results together stay under limit. An operation that
// finds the gate full waits for others to end; where only results that the
// host has yet to drop are in its way, it is refused.
type gate struct {
	limit int64

	running atomic.Int64
	pinned  atomic.Int64
	waiting atomic.Int64 // the length of queue: where it is 0, no lock is taken

	mu    sync.Mutex
	queue []*ticket
}

type ticket struct {
	weight int64
	in     chan struct{}
}

// enter returns the weight that leave has to be told. A weight over the
// limit is let in alone, none at once.
func (g *gate) enter(ctx context.Context, weight int64) (int64, error) {
	if weight == 0 {
		return 0, nil
	}
	weight = min(weight, g.limit)
	if g.waiting.Load() == 0 {
		if g.running.Add(weight)+g.pinned.Load() <= g.limit {
			return weight, nil
		}
		g.running.Add(-weight)
	}
	return g.queued(ctx, weight)
}

// queued is enter where there may be a queue.
func (g *gate) queued(ctx context.Context, weight int64) (int64, error) {
	g.mu.Lock()
	if len(g.queue) == 0 && g.running.Load() == 0 && !g.fits(weight) {
		g.mu.Unlock()
		return 0, fault.New(fault.ErrLimit, "memory", "", "results that were not dropped fill it")
	}
	t := &ticket{weight: weight, in: make(chan struct{})}
	g.queue = append(g.queue, t)
	g.waiting.Add(1)
	g.admit() // whoever left before the queue was seen did not
	g.mu.Unlock()

	select {
	case <-t.in:
		return weight, nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, q := range g.queue {
		if q == t {
			g.queue = append(g.queue[:i], g.queue[i+1:]...)
			g.waiting.Add(-1)
			g.admit()
			return 0, ctx.Err()
		}
	}
	g.running.Add(-weight) // let in at the same moment
	g.admit()
	return 0, ctx.Err()
}

// fits says whether weight may come in now. With nothing running, up to a
// third of the limit may lie in results: so no single operation is refused
// for being large.
func (g *gate) fits(weight int64) bool {
	running, pinned := g.running.Load(), g.pinned.Load()
	return running+pinned+weight <= g.limit || running == 0 && pinned <= g.limit/3
}

// admit lets in whom it can, in order. With nothing running, the first comes
// in whatever is pinned: it was not refused when it came. The caller holds
// mu.
func (g *gate) admit() {
	for len(g.queue) > 0 && (g.fits(g.queue[0].weight) || g.running.Load() == 0) {
		t := g.queue[0]
		g.queue = g.queue[1:]
		g.waiting.Add(-1)
		g.running.Add(t.weight)
		close(t.in)
	}
}

func (g *gate) leave(weight int64) {
	g.running.Add(-weight)
	g.freed()
}

func (g *gate) pin(n int64) { g.pinned.Add(n) }

func (g *gate) unpin(n int64) {
	g.pinned.Add(-n)
	g.freed()
}

func (g *gate) freed() {
	if g.waiting.Load() > 0 {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.admit()
	}
}
