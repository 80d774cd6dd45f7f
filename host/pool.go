package host

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/storage"
)

// pool is the slots of a sandbox, each of which holds an instance or room for
// one. Who takes a slot owns it, and its instance, until he gives it back.
type pool struct {
	mu      sync.Mutex
	back    sync.Cond // a slot came back to a closed pool
	slots   []*slot
	free    []*slot   // the one that was used last at the end: its caches are warm
	waiting []*waiter // the oldest first
	closed  bool
}

type slot struct {
	in    *instance // nil: none yet, or no more
	ended []*ending // since the slot was taken; the pool's
}

// ending is the end of something that calls in progress may still use.
type ending struct {
	o     opener
	users atomic.Int64
	free  func()
}

// leave is called by each user once; the last frees.
func (e *ending) leave() {
	if e.users.Add(-1) == 0 {
		e.free()
	}
}

// waiter waits for one slot, or for any.
type waiter struct {
	at    *slot      // nil: any
	given chan *slot // has room for one; closed with the pool
}

func newPool(n int) *pool {
	p := &pool{}
	p.back.L = &p.mu
	for range n {
		p.slots = append(p.slots, &slot{})
	}
	p.free = slices.Clone(p.slots)
	return p
}

// take waits for a slot: for this one, or for any if at is nil. Who came first
// is served first.
func (p *pool) take(ctx context.Context, at *slot) (*slot, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed("sandbox")
	}
	i := len(p.free) - 1
	if at != nil {
		i = slices.Index(p.free, at)
	}
	if i >= 0 {
		s := p.free[i]
		p.free = slices.Delete(p.free, i, i+1)
		p.mu.Unlock()
		return s, nil
	}
	w := &waiter{at, make(chan *slot, 1)}
	p.waiting = append(p.waiting, w)
	p.mu.Unlock()

	select {
	case s, ok := <-w.given:
		if !ok {
			return nil, errClosed("sandbox")
		}
		return s, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	if i := slices.Index(p.waiting, w); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	p.mu.Unlock()
	select {
	case s, ok := <-w.given: // just now
		if ok {
			return s, nil // the call finds that ctx ended, and gives it back
		}
	default:
	}
	return nil, storage.Ended(ctx, "")
}

// give puts a slot back. It is false if something ended meanwhile that the
// owner is to close first.
func (p *pool) give(s *slot) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(s.ended) > 0 {
		return false
	}
	for i, w := range p.waiting {
		if w.at == nil || w.at == s {
			p.waiting = slices.Delete(p.waiting, i, i+1)
			w.given <- s
			return true
		}
	}
	p.free = append(p.free, s)
	if p.closed {
		p.back.Broadcast()
	}
	return true
}

// sweep returns what ended while the slot was in use.
func (p *pool) sweep(s *slot) (ended []*ending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended, s.ended = s.ended, nil
	return ended
}

// end tells the owners of all slots that something is not used any more. It
// returns the free slots on which that is open, which the caller owns then, and
// the end, of which he is a user.
func (p *pool) end(o opener, free func()) (taken []*slot, e *ending) {
	e = &ending{o: o, free: free}
	e.users.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slots {
		i := slices.Index(p.free, s)
		switch {
		case i < 0:
			e.users.Add(1)
			s.ended = append(s.ended, e)
		case p.closed: // what is on it ends with it
		case s.in != nil && s.in.has(o):
			p.free = slices.Delete(p.free, i, i+1)
			taken = append(taken, s)
		}
	}
	return taken, e
}

// close turns away who waits, and waits for the slots that are in use.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.waiting {
		close(w.given)
	}
	p.waiting = nil
	for len(p.free) < len(p.slots) {
		p.back.Wait()
	}
}
