package storage

import (
	"context"
	"errors"
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
)

// MemoryLocker is a Locker within one process. Whoever asked first is served
// first: a shared lock waits behind an exclusive one that waits, so readers
// never keep a writer out. Safe for concurrent use.
//
// Locks are not re-entrant. An owner that holds a name and asks for it again,
// one of the two exclusively, gets ErrLocked, for it would wait for itself.
// It may hold a name shared several times, for several goroutines, but must
// not ask for a second lock in order to give the first one back.
type MemoryLocker struct {
	mu    sync.Mutex
	names map[string]*lockQueue
}

// lockQueue is the holders of one name and who waits for them.
type lockQueue struct {
	holders map[*holder]struct{}
	waiting []*holder
}

type holder struct {
	owner   Owner
	mode    LockMode
	granted chan struct{} // closed when the lock is held
}

// NewMemoryLocker returns a locker that holds nothing.
func NewMemoryLocker() *MemoryLocker { return &MemoryLocker{names: map[string]*lockQueue{}} }

// Lock is Locker's.
func (l *MemoryLocker) Lock(ctx context.Context, name string, owner Owner, m LockMode) (unlock func() error, err error) {
	if err := CheckLockMode(name, m); err != nil {
		return nil, err
	}
	if err := LockEnded(ctx, name); err != nil {
		return nil, err
	}
	h := &holder{owner, m, make(chan struct{})}
	if err := l.ask(name, h); err != nil {
		return nil, err
	}
	select {
	case <-h.granted:
	case <-ctx.Done():
		l.leave(name, h)
		return nil, LockEnded(ctx, name)
	}
	return func() error {
		if !l.leave(name, h) {
			return fault.New(fault.ErrClosed, "lock", name, "unlocked twice")
		}
		return nil
	}, nil
}

func (l *MemoryLocker) ask(name string, h *holder) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.names[name]
	if q == nil {
		q = &lockQueue{holders: map[*holder]struct{}{}}
		l.names[name] = q
	}
	for other := range q.holders {
		if other.owner == h.owner && (other.mode == LockExclusive || h.mode == LockExclusive) {
			return fault.New(fault.ErrLocked, "lock", name, "held by the same owner")
		}
	}
	q.waiting = append(q.waiting, h)
	q.grant()
	return nil
}

// leave gives a lock back, or a place in the queue; false if h has neither.
func (l *MemoryLocker) leave(name string, h *holder) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.names[name]
	if q == nil {
		return false
	}
	_, found := q.holders[h]
	delete(q.holders, h)
	for i, w := range q.waiting {
		if w == h {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			found = true
			break
		}
	}
	q.grant()
	if len(q.holders)+len(q.waiting) == 0 {
		delete(l.names, name)
	}
	return found
}

// grant serves the head of the queue as long as it gets on with the holders.
func (q *lockQueue) grant() {
	for len(q.waiting) > 0 {
		next := q.waiting[0]
		for h := range q.holders {
			if h.mode == LockExclusive || next.mode == LockExclusive {
				return
			}
		}
		q.waiting = q.waiting[1:]
		q.holders[next] = struct{}{}
		close(next.granted)
	}
}

// CheckLockMode returns ErrInvalid for what is neither shared nor exclusive.
func CheckLockMode(name string, m LockMode) error {
	if m != LockShared && m != LockExclusive {
		return fault.New(fault.ErrInvalid, "lock", name, "neither shared nor exclusive")
	}
	return nil
}

// LockEnded returns nil while ctx lasts; then ErrLockTimeout after a deadline
// and ErrCancelled otherwise, both of which are the context's error as well.
func LockEnded(ctx context.Context, name string) error {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.ErrLockTimeout, "lock", name, "")
	}
	return fault.New(fault.ErrCancelled, "lock", name, "")
}
