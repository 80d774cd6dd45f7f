package storage

import (
	"context"
	"errors"
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
)

// MemoryLocker is a Locker within one process, of a LockQueue a name. Safe for
// concurrent use.
type MemoryLocker struct {
	mu    sync.Mutex
	names map[string]*namedQueue
}

// namedQueue is kept as long as somebody is at it.
type namedQueue struct {
	LockQueue
	users int // guarded by the lock of the locker
}

// NewMemoryLocker returns a locker that holds nothing.
func NewMemoryLocker() *MemoryLocker { return &MemoryLocker{names: map[string]*namedQueue{}} }

// Lock is Locker's.
func (l *MemoryLocker) Lock(ctx context.Context, name string, owner Owner, m LockMode) (unlock func() error, err error) {
	q, t := l.enter(name), new(LockTicket)
	if err := q.Lock(ctx, name, owner, m, t); err != nil {
		l.leave(name, q)
		return nil, err
	}
	return func() error {
		if !q.Unlock(t) {
			return fault.New(fault.ErrClosed, "lock", name, "unlocked twice")
		}
		l.leave(name, q)
		return nil
	}, nil
}

func (l *MemoryLocker) enter(name string) *namedQueue {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.names[name]
	if q == nil {
		q = &namedQueue{}
		l.names[name] = q
	}
	q.users++
	return q
}

func (l *MemoryLocker) leave(name string, q *namedQueue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(l.names, name)
	}
}

// CheckLockMode returns ErrInvalid for what is neither shared nor exclusive.
func CheckLockMode(name string, m LockMode) error {
	if m != LockShared && m != LockExclusive {
		return fault.New(fault.ErrInvalid, "lock", name, "neither shared nor exclusive")
	}
	return nil
}

// LockCancelled is LockEnded before the first look at a lock: a deadline that has
// passed by then does not count, for a lock that is free is had.
func LockCancelled(ctx context.Context, name string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil
	}
	return LockEnded(ctx, name)
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
