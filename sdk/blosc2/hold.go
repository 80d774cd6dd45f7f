package blosc2

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// hold is a lock that is kept over several calls.
type hold struct {
	grip *grip // nil: the frame is not locked, and the hold holds nothing
	name string

	mu    sync.RWMutex // held shared by calls
	ended bool

	broken atomic.Bool // somebody wrote all the same
}

// over reports whether the hold ended; nil is none.
func (h *hold) over() bool {
	if h == nil {
		return false
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.ended
}

// enter makes sure that the lock is held for a call, until leave. The grip is
// nil where the frame is not locked.
func (f *frame) enter(ctx context.Context, m storage.LockMode) (*grip, error) {
	switch {
	case f.hold != nil:
		return f.hold.enter(m)
	case f.lock == nil:
		return nil, nil
	}
	return f.lock.lock(ctx, m, f.last())
}

// leave is the end of a call that entered.
func (f *frame) leave(g *grip) error {
	switch {
	case f.hold != nil:
		f.hold.mu.RUnlock()
	case g != nil:
		return g.end()
	}
	return nil
}

func nothing() error { return nil }

// locked calls do while the lock is held, which a panic in do gives back too.
func (f *frame) locked(ctx context.Context, m storage.LockMode, do func(g *grip) error) (err error) {
	g, err := f.enter(ctx, m)
	if err != nil {
		return f.about(err)
	}
	defer func() { err = first(err, f.leave(g)) }()
	return f.about(do(g))
}

func (h *hold) enter(m storage.LockMode) (*grip, error) {
	h.mu.RLock()
	switch {
	case h.ended:
		h.mu.RUnlock()
		return nil, fault.New(fault.ErrClosed, "lock", h.name, "the hold ended")
	case m == storage.LockExclusive && h.grip != nil && h.grip.mode != m:
		h.mu.RUnlock()
		return nil, fault.New(fault.ErrLocked, "lock", h.name, "held shared, which is not made exclusive: others may hold it too")
	}
	return h.grip, nil
}

// end waits for the calls that are going on, and gives the lock back. Ending
// twice is fine.
func (h *hold) end() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return nil
	}
	h.ended = true
	if h.grip == nil {
		return nil
	}
	return h.grip.Unlock()
}

// beginHold takes the lock and brings the frame up to date. A hold of one that
// is a hold's already ends with that.
func (f *frame) beginHold(ctx context.Context, m storage.LockMode) (held *frame, end func() error, err error) {
	if f.hold != nil {
		// It may not be over, nor shared.
		return f, nothing, f.locked(ctx, m, func(g *grip) error { return f.sync(ctx, g) })
	}
	h := &hold{name: f.where.name}
	if f.lock != nil {
		g, err := f.lock.lock(ctx, m, f.last())
		if err != nil {
			return nil, nil, f.about(err)
		}
		h.grip = g
	}
	if err := f.sync(ctx, h.grip); err != nil {
		return nil, nil, first(f.about(err), h.end())
	}
	if h.grip != nil {
		h.grip.found = h.grip.now // what follows is one's own
	}
	return &frame{body: f.body, hold: h}, h.end, nil
}

// held calls do with the frame while its lock is held, for calls that consist
// of several. Without a lock, or within a hold, do gets the frame itself.
func (f *frame) held(ctx context.Context, m storage.LockMode, do func(f *frame) error) (err error) {
	if f.lock == nil || f.hold != nil {
		return do(f)
	}
	held, end, err := f.beginHold(ctx, m)
	if err != nil {
		return err
	}
	defer func() { err = first(err, end()) }()
	return do(held)
}

// Hold takes the lock of a container, shared or exclusively, until end. held
// is the container as those may use it who hold the lock; it is closed by end.
// Counters and shape are those of now. Of containers that do not lock nothing is
// held.
//
// This is the form for those who cannot hand over a function, see HoldingLock.
// Whoever holds the lock, and waits for a call through another handle of the
// container that needs it, waits for himself. A context from WithHold turns
// that into ErrLocked.
func Hold(ctx context.Context, c Container, m storage.LockMode) (held Container, end func() error, err error) {
	f, with := within(c)
	if f == nil {
		return nil, nil, fault.New(fault.ErrInvalid, "blosc2", "", "no container")
	}
	frame, end, err := f.beginHold(ctx, m)
	if err != nil {
		return nil, nil, err
	}
	return with(frame), end, nil
}

// WithHold returns a context for the calls made while a lock is held that was
// taken with it: one that would wait for it is ErrLocked.
func WithHold(ctx context.Context) context.Context {
	if _, ok := ctx.Value(ownerKey{}).(storage.Owner); ok {
		return ctx
	}
	return context.WithValue(ctx, ownerKey{}, storage.NewOwner())
}

// within returns the frame of a container that has its lock, and the container
// over another way to that frame.
func within(c Container) (*frame, func(*frame) Container) {
	switch c := c.(type) {
	case *SChunk:
		return c.f, func(f *frame) Container { return &SChunk{f} }
	case *NDArray:
		return c.s.f, func(f *frame) Container { return &NDArray{&SChunk{f}} }
	case *EmbedStore:
		return c.s.f, func(f *frame) Container { return newEmbedStore(&SChunk{f}) }
	case *DictStore:
		return c.embed.s.f, func(f *frame) Container { return c.over(f) }
	case *TreeStore:
		return c.d.embed.s.f, func(f *frame) Container { return &TreeStore{c.d.over(f)} }
	}
	return nil, nil
}

// holding calls do within a hold.
func holding[C Container](ctx context.Context, c C, m storage.LockMode, do func(ctx context.Context, held C) error) (err error) {
	ctx = WithHold(ctx)
	held, end, err := Hold(ctx, c, m)
	if err != nil {
		return err
	}
	defer func() { err = first(err, end()) }() // also when do panics
	return do(ctx, held.(C))
}

// HoldingLock calls do while it holds the frame's lock exclusively: what held
// reads and writes no other handle that locks, in this process or another, is
// between. held and its counters are fresh, and closed when do returns. The
// frame itself must not be used meanwhile: with the context that do gets it is
// ErrLocked, with another it waits for ever. Without locking nothing is held.
//
// ErrLockTimeout, ErrCancelled, ErrReadOnly where the lock's file may not be
// written to; ErrLocked within HoldingSharedLock.
func (s *SChunk) HoldingLock(ctx context.Context, do func(ctx context.Context, held *SChunk) error) error {
	return holding(ctx, s, storage.LockExclusive, do)
}

// HoldingSharedLock is HoldingLock for readers, who do not keep each other
// out: all that held reads is of one state. Writing is ErrLocked.
func (s *SChunk) HoldingSharedLock(ctx context.Context, do func(ctx context.Context, held *SChunk) error) error {
	return holding(ctx, s, storage.LockShared, do)
}

// HoldingLock is SChunk's.
func (a *NDArray) HoldingLock(ctx context.Context, do func(ctx context.Context, held *NDArray) error) error {
	return holding(ctx, a, storage.LockExclusive, do)
}

// HoldingSharedLock is SChunk's.
func (a *NDArray) HoldingSharedLock(ctx context.Context, do func(ctx context.Context, held *NDArray) error) error {
	return holding(ctx, a, storage.LockShared, do)
}

// HoldingLock is SChunk's.
func (e *EmbedStore) HoldingLock(ctx context.Context, do func(ctx context.Context, held *EmbedStore) error) error {
	return holding(ctx, e, storage.LockExclusive, do)
}

// HoldingSharedLock is SChunk's.
func (e *EmbedStore) HoldingSharedLock(ctx context.Context, do func(ctx context.Context, held *EmbedStore) error) error {
	return holding(ctx, e, storage.LockShared, do)
}

// HoldingLock is SChunk's, for the store with its files.
func (d *DictStore) HoldingLock(ctx context.Context, do func(ctx context.Context, held *DictStore) error) error {
	return holding(ctx, d, storage.LockExclusive, do)
}

// HoldingSharedLock is SChunk's, for the store with its files.
func (d *DictStore) HoldingSharedLock(ctx context.Context, do func(ctx context.Context, held *DictStore) error) error {
	return holding(ctx, d, storage.LockShared, do)
}

// HoldingLock is SChunk's, for the store with its files.
func (t *TreeStore) HoldingLock(ctx context.Context, do func(ctx context.Context, held *TreeStore) error) error {
	return holding(ctx, t, storage.LockExclusive, do)
}

// HoldingSharedLock is SChunk's, for the store with its files.
func (t *TreeStore) HoldingSharedLock(ctx context.Context, do func(ctx context.Context, held *TreeStore) error) error {
	return holding(ctx, t, storage.LockShared, do)
}
