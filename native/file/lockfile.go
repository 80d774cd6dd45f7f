package file

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gridhold/gridhold/native/mmap"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// lockFile is storage.LockFile over a file of the system.
type lockFile struct {
	fs    *FS
	name  string
	flock func(f *os.File, exclusive, wait bool) (held bool, err error)
	raw   bool // the system may be asked by the shortest way

	mu     sync.Mutex
	now    atomic.Pointer[opening] // nil: none yet, or it was given up; set under mu
	count  uint64                  // of openings of different files
	last   inode                   // of the opening before
	closed bool
	gate   gate
}

// opening is one file that the name led to.
type opening struct {
	*os.File
	fd       uintptr
	raw      bool // see raw_linux.go
	name     string
	id       inode
	number   uint64
	readOnly bool
	network  bool // where others write, a mapping does not show it
	queue    *inodeQueue
	looked   atomic.Int64 // when the name was last seen to lead here

	// turn is held by who waits for the system, so that a second reader of this
	// opening does not.
	turn chan struct{}
	dead chan struct{} // closed when the opening was given up

	mu      sync.Mutex
	asking  bool          // somebody has the turn
	shared  int           // holders of the system's shared lock
	since   time.Duration // when the first of them came
	drained chan struct{}

	mapped atomic.Pointer[mmap.Map] // of the beginning, once there is any

	users atomic.Int64 // the lockFile, holders, who waits; closed by the last
}

// mappable is how much of a lock's file is read through a mapping: more than
// anybody writes to one.
const mappable = 64

// started is what durations are measured from: that costs half of asking what
// time it is.
var started = time.Now()

// turnover is how long readers that overlap may keep the system's shared lock
// between them, and recheck how long it may go unseen that the name of the
// file leads elsewhere while the file still has one.
const (
	turnover = 10 * time.Millisecond
	recheck  = 100 * time.Millisecond
)

// Lock is LockFile's.
func (l *lockFile) Lock(ctx context.Context, r storage.LockRequest) (storage.Locked, error) {
	if err := storage.CheckLockMode(l.name, r.Mode); err != nil {
		return nil, err
	}
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	for ended := storage.LockCancelled; ; ended = storage.LockEnded {
		if err := ended(ctx, l.name); err != nil {
			return nil, err
		}
		o, err := l.open(r.Mode)
		if err != nil {
			return nil, err
		}
		h := &hold{o: o, exclusive: r.Mode == storage.LockExclusive, at: time.Since(started)}
		if err := o.queue.Lock(ctx, l.name, r.Owner, r.Mode, &h.ticket); err != nil {
			o.leave()
			return nil, err
		}
		if err := l.ask(ctx, h); err != nil {
			o.queue.Unlock(&h.ticket)
			o.leave()
			if err == errGivenUp {
				continue
			}
			return nil, err
		}
		// While we waited the file may have been removed or replaced by one
		// that others already lock.
		if l.current(o, h.at) {
			return h, nil
		}
		l.giveUp(o)
		if err := h.Unlock(); err != nil {
			return nil, err
		}
	}
}

// open returns the file with one more user.
func (l *lockFile) open(m storage.LockMode) (*opening, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fault.New(fault.ErrClosed, "lock", l.name, "")
	}
	o := l.now.Load()
	if o == nil {
		var err error
		if o, err = openLockFile(l.fs.root, l.name); err != nil {
			return nil, err
		}
		if o.id != l.last {
			l.count++
		}
		o.raw = l.raw && !o.network
		o.number, l.last = l.count, o.id
		l.now.Store(o)
	}
	if m == storage.LockExclusive && o.readOnly {
		return nil, fault.New(fault.ErrReadOnly, "lock", l.name, "may not be written to, so it is only locked shared")
	}
	o.users.Add(1)
	return o, nil
}

// openLockFile opens a lock file for writing, and makes it where there is none;
// where it may not be written to, for reading: that is enough for readers.
func openLockFile(root *os.Root, name string) (*opening, error) {
	readOnly := false
	f, err := openFlags(root, name, storage.OpenWrite|storage.OpenCreate)
	if kind := failure(name, err); errors.Is(kind, fault.ErrNotAllowed) || errors.Is(kind, fault.ErrReadOnly) {
		readOnly = true
		var again error
		if f, again = openFlags(root, name, storage.OpenRead); again == nil {
			err = nil
		} else if errors.Is(again, os.ErrNotExist) {
			return nil, fault.New(fault.ErrReadOnly, "lock", name, "there is none and none can be made; open without locking, or make it where that is allowed")
		}
	}
	if err != nil {
		return nil, failure(name, err)
	}
	if !readOnly {
		admit(root, f, name)
	}
	fd := f.Fd()
	s, _, err := fstat(f, fd)
	if err != nil {
		f.Close()
		return nil, failure(name, err)
	}
	o := &opening{
		File: f, fd: fd, name: name, id: inode{s.dev, s.ino}, readOnly: readOnly,
		queue: process.enter(inode{s.dev, s.ino}), turn: make(chan struct{}, 1), dead: make(chan struct{}),
	}
	o.looked.Store(int64(time.Since(started)))
	info, err := statFS(f)
	o.network = err != nil || info.Network || info.Kind == ""
	o.users.Store(1)
	return o, nil
}

// leave is the end of one use.
func (o *opening) leave() error {
	if o.users.Add(-1) > 0 {
		return nil
	}
	process.leave(o.id, o.queue)
	if m := o.mapped.Load(); m != nil {
		m.Close()
	}
	return o.File.Close()
}

// current reports whether the name leads to o, now or later. A file without
// names is not it; for one that was renamed away the name is looked at now and
// then.
func (l *lockFile) current(o *opening, now time.Duration) bool {
	if !o.named() {
		return false
	}
	if l.now.Load() == o && int64(now)-o.looked.Load() < int64(recheck) {
		return true
	}
	f, err := openFlags(l.fs.root, l.name, storage.OpenRead)
	if err != nil {
		return false
	}
	defer f.Close()
	s, _, err := fstat(f, f.Fd())
	if err != nil || (inode{s.dev, s.ino}) != o.id {
		return false
	}
	o.looked.Store(int64(now))
	return l.now.Load() == o
}

// named reports whether the file has a name.
func (o *opening) named() bool {
	if o.raw {
		links, ok := rawLinks(o.fd)
		return ok && links > 0
	}
	_, links, err := fstat(o.File, o.fd)
	return err == nil && links > 0
}

// try locks the file if that takes no waiting.
func (l *lockFile) try(o *opening, exclusive bool) (held bool, err error) {
	if o.raw {
		return rawLock(o.fd, exclusive)
	}
	return l.flock(o.File, exclusive, false)
}

func (o *opening) unlock() error {
	if o.raw {
		return rawUnlock(o.fd)
	}
	return unflock(o.File)
}

// giveUp makes the next Lock open the name anew.
func (l *lockFile) giveUp(o *opening) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now.CompareAndSwap(o, nil) {
		close(o.dead)
		o.leave()
	}
}

// Close is LockFile's.
func (l *lockFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if o := l.now.Swap(nil); o != nil {
		return failure(l.name, o.leave())
	}
	return nil
}

// hold is a lock that is held.
type hold struct {
	o         *opening
	ticket    storage.LockTicket
	at        time.Duration // when the lock was asked for, or got
	exclusive bool
	ended     atomic.Bool
}

func (h *hold) File() uint64 { return h.o.number }

// Holds is Locked's. A file that was renamed away still has a name: that is
// only looked at when the lock is taken.
func (h *hold) Holds(context.Context) error {
	if !h.o.named() {
		return storage.LockReplaced(h.o.name)
	}
	return nil
}

func (h *hold) ReadAt(p []byte, off int64) (int, error) {
	if m := h.o.mapped.Load(); m != nil && off+int64(len(p)) <= int64(m.Len()) {
		return m.ReadAt(p, off)
	}
	n, err := pread(h.o.File, h.o.fd, p, off)
	if err == nil && n == len(p) && off+int64(n) <= mappable && !h.o.network {
		if m, err := mmap.New(h.o.File); err == nil && !h.o.mapped.CompareAndSwap(nil, m) {
			m.Close()
		}
	}
	if err == nil && n < len(p) {
		return n, io.EOF
	}
	return n, failure(h.o.name, err)
}

func (h *hold) WriteAt(p []byte, off int64) (int, error) {
	if !h.exclusive {
		return 0, storage.ReadOnly(h.o.name)
	}
	n, err := h.o.File.WriteAt(p, off)
	return n, failure(h.o.name, err)
}

// Unlock gives the system's lock back before the place in this process:
// whoever comes in next here asks for it anew.
func (h *hold) Unlock() error {
	if h.ended.Swap(true) {
		return unlockedTwice(h.o.name)
	}
	var err error
	if h.exclusive {
		err = h.o.unlock()
	} else {
		err = h.o.leaveShared()
	}
	h.o.queue.Unlock(&h.ticket)
	return errors.Join(failure(h.o.name, err), failure(h.o.name, h.o.leave()))
}
