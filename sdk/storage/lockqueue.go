package storage

import (
	"context"
	"slices"
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
)

// LockQueue is one lock within one process, shared or exclusive. Whoever
// asked first is served first: a shared lock waits behind an exclusive one
// that waits, so readers never keep a writer out. The zero value is free.
// Safe for concurrent use.
//
// An owner that holds it and asks again, one of the two exclusively, gets
// ErrLocked, for it would wait for itself. It may hold it shared several
// times: then it does not wait, not even behind a writer who waits for it.
type LockQueue struct {
	mu      sync.Mutex
	holders []*LockTicket
	waiting []*LockTicket
}

// LockTicket is a place among the holders of a LockQueue, or among those who
// wait.
type LockTicket struct {
	owner   Owner
	mode    LockMode
	granted chan struct{} // closed when it is held; nil: it did not have to wait
	again   bool
}

// Again reports whether the owner held the lock already.
func (t *LockTicket) Again() bool { return t.again }

// Lock waits until the lock is held or ctx ends: ErrLockTimeout after a
// deadline, ErrCancelled otherwise. name is for errors. The ticket is made what
// Unlock wants.
func (q *LockQueue) Lock(ctx context.Context, name string, owner Owner, m LockMode, t *LockTicket) error {
	if err := CheckLockMode(name, m); err != nil {
		return err
	}
	if err := LockCancelled(ctx, name); err != nil {
		return err
	}
	*t = LockTicket{owner: owner, mode: m}
	if err := q.ask(name, t); err != nil {
		return err
	}
	if t.granted == nil {
		return nil
	}
	select {
	case <-t.granted:
		return nil
	case <-ctx.Done():
		q.Unlock(t)
		return LockEnded(ctx, name)
	}
}

func (q *LockQueue) ask(name string, t *LockTicket) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, other := range q.holders {
		if other.owner == t.owner && (other.mode == LockExclusive || t.mode == LockExclusive) {
			return fault.New(fault.ErrLocked, "lock", name, "held by the same owner, which would wait for itself")
		}
		t.again = t.again || other.owner == t.owner
	}
	if t.again || len(q.waiting) == 0 && q.fits(t) {
		q.holders = append(q.holders, t)
		return nil
	}
	t.granted = make(chan struct{})
	q.waiting = append(q.waiting, t)
	return nil
}

// Unlock gives the lock back, or the place in the queue; false if t has
// neither.
func (q *LockQueue) Unlock(t *LockTicket) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.holders, t); i >= 0 {
		q.holders = slices.Delete(q.holders, i, i+1)
	} else if i := slices.Index(q.waiting, t); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	} else {
		return false
	}
	for len(q.waiting) > 0 && q.fits(q.waiting[0]) {
		next := q.waiting[0]
		q.waiting = slices.Delete(q.waiting, 0, 1)
		q.holders = append(q.holders, next)
		close(next.granted)
	}
	return true
}

// Waits reports whether somebody waits for the lock.
func (q *LockQueue) Waits() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) > 0
}

// fits reports whether t gets on with the holders.
func (q *LockQueue) fits(t *LockTicket) bool {
	if len(q.holders) == 0 {
		return true
	}
	// Those who hold it together hold it shared.
	return t.mode == LockShared && q.holders[0].mode == LockShared
}
