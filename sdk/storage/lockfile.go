package storage

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
)

// LockFile is a lock that is taken again and again: the file that stands for
// it stays open. Safe for concurrent use.
type LockFile interface {
	// Lock waits until the lock is held: ErrLockTimeout after the request's
	// timeout or the context's deadline, ErrCancelled when ctx ends otherwise.
	// What is then locked is the file that the name leads to, made where
	// there is none. ErrReadOnly for an exclusive lock of a file that may not
	// be written to, and where there is no file and none can be made;
	// ErrUnsupported where the file system has no locks.
	Lock(ctx context.Context, r LockRequest) (Locked, error)
	// Close closes the file, when nobody holds the lock any more.
	Close() error
}

// LockRequest is how a LockFile is locked.
type LockRequest struct {
	Owner   Owner
	Mode    LockMode
	Timeout time.Duration // 0: none
}

// Locked is a lock that is held, and the content of the file that stands for
// it, which the holders may use to tell each other something.
type Locked interface {
	io.ReaderAt
	io.WriterAt // only when held exclusively
	// File tells files apart that the name led to: another number than last
	// time means that the file was removed or replaced, with its content.
	File() uint64
	// Holds returns ErrStale if the name leads to another file by now, which
	// others may have locked. It is a look, not a promise.
	Holds(ctx context.Context) error
	Unlock() error // once
}

// LockKeeper is an optional power of a Locker: to keep lock files open.
type LockKeeper interface {
	KeepLock(ctx context.Context, name string) (LockFile, error)
}

// OpenLockFile opens the lock of a name. Where the locker does not keep files
// itself, the file that it locks is read and written through fs, which may be
// nil: then there is no content. clock measures timeouts; nil: there are none.
func OpenLockFile(ctx context.Context, l Locker, fs FS, clock Clock, name string) (LockFile, error) {
	if k, ok := l.(LockKeeper); ok {
		return k.KeepLock(ctx, name)
	}
	return &composedLock{locker: l, fs: fs, clock: clock, name: name}, nil
}

var owners atomic.Uint64

// owned makes the numbers of one instance of the guest unlike those of others
// that share the host's locks.
var owned = rand.Uint64()

// NewOwner returns an owner that nobody else is.
func NewOwner() Owner { return Owner(owned + owners.Add(1)) }

// composedLock makes a LockFile of a Locker and an FS.
type composedLock struct {
	locker Locker
	fs     FS
	clock  Clock
	name   string

	mu   sync.Mutex
	file File // nil: not open
	id   FileInfo
	seen uint64 // how many files the name led to
}

func (c *composedLock) Lock(ctx context.Context, r LockRequest) (Locked, error) {
	ctx, done := WithTimeout(ctx, c.clock, r.Timeout)
	defer done()
	unlock, err := c.locker.Lock(ctx, c.name, r.Owner, r.Mode)
	if err != nil {
		return nil, err
	}
	h := &composedHold{lock: c, unlock: unlock, exclusive: r.Mode == LockExclusive}
	if err := c.open(ctx, h); err != nil {
		return nil, errors.Join(err, unlock())
	}
	return h, nil
}

// open makes sure that what is open is what the name leads to.
func (c *composedLock) open(ctx context.Context, h *composedHold) error {
	if c.fs == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil {
		if now, err := c.fs.Stat(ctx, c.name); err == nil && now.Ino == c.id.Ino && now.Dev == c.id.Dev {
			h.file, h.id, h.seen = c.file, c.id, c.seen
			return nil
		}
		c.file.Close()
		c.file = nil
	}
	f, err := c.fs.Open(ctx, c.name, OpenRead|OpenWrite|OpenCreate)
	if !h.exclusive && (errors.Is(err, fault.ErrNotAllowed) || errors.Is(err, fault.ErrReadOnly)) {
		f, err = c.fs.Open(ctx, c.name, OpenRead)
	}
	if err != nil {
		return err
	}
	if c.id, err = f.Stat(); err != nil {
		return errors.Join(err, f.Close())
	}
	c.file = f
	c.seen++
	h.file, h.id, h.seen = f, c.id, c.seen
	return nil
}

func (c *composedLock) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return nil
	}
	f := c.file
	c.file = nil
	return f.Close()
}

type composedHold struct {
	lock      *composedLock
	file      File
	id        FileInfo
	seen      uint64
	exclusive bool
	unlock    func() error
}

func (h *composedHold) ReadAt(p []byte, off int64) (int, error) {
	if h.file == nil {
		return 0, io.EOF
	}
	return h.file.ReadAt(p, off)
}

func (h *composedHold) WriteAt(p []byte, off int64) (int, error) {
	if h.file == nil {
		return len(p), nil
	}
	return h.file.WriteAt(p, off)
}

func (h *composedHold) File() uint64 { return h.seen }

func (h *composedHold) Holds(ctx context.Context) error {
	if h.lock.fs == nil {
		return nil
	}
	now, err := h.lock.fs.Stat(ctx, h.lock.name)
	if err == nil && now.Ino == h.id.Ino && now.Dev == h.id.Dev {
		return nil
	}
	return LockReplaced(h.lock.name)
}

// LockReplaced is the ErrStale of Locked.Holds.
func LockReplaced(name string) error {
	return fault.New(fault.ErrStale, "lock", name, "the file was removed or replaced while it was locked")
}

func (h *composedHold) Unlock() error { return h.unlock() }

// WithTimeout returns a context that ends after d by the clock, as one with a
// deadline does; d <= 0 or no clock: ctx itself. done ends it.
func WithTimeout(ctx context.Context, clock Clock, d time.Duration) (_ context.Context, done func()) {
	if d <= 0 || clock == nil {
		return ctx, func() {}
	}
	inner, cancel := context.WithCancel(ctx)
	timed := &timedContext{Context: inner}
	fault.Go(func() {
		if clock.Sleep(inner, d) == nil {
			timed.late.Store(true)
			cancel()
		}
	}, func(error) { cancel() })
	return timed, cancel
}

// timedContext says that it ended by its deadline.
type timedContext struct {
	context.Context
	late atomic.Bool
}

func (c *timedContext) Err() error {
	err := c.Context.Err()
	if err != nil && c.late.Load() {
		return context.DeadlineExceeded
	}
	return err
}
