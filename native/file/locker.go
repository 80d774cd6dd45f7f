package file

import (
	"context"
	"os"
	"sync"

	"github.com/gridhold/gridhold/native/clock"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// process knows who in this process holds which file, by its identity:
// whatever path, Locker or instance of the guest asks, they exclude each
// other here, in order, before the system's lock is asked for.
var process = inodeTable{queues: map[inode]*inodeQueue{}}

type inode struct{ dev, ino uint64 }

// inodeQueue is the lock of a file within the process, for as long as
// somebody has that file open to lock it.
type inodeQueue struct {
	storage.LockQueue
	users int // guarded by the table
}

type inodeTable struct {
	mu     sync.Mutex
	queues map[inode]*inodeQueue
}

func (t *inodeTable) enter(id inode) *inodeQueue {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.queues[id]
	if q == nil {
		q = &inodeQueue{}
		t.queues[id] = q
	}
	q.users++
	return q
}

func (t *inodeTable) leave(id inode, q *inodeQueue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(t.queues, id)
	}
}

// Locker locks the files of a directory against this and other processes:
// with flock on Unix, LockFileEx on Windows, ErrUnsupported elsewhere. The
// system frees the locks of a process that ends. On network file systems they
// hold as far as those promise.
//
// The file of a name is made where there is none, empty, and stays. Within
// the process the order is that of storage.LockQueue. Between processes the
// system decides; but one of ours that waits for an exclusive lock makes a
// file beside, NAME.gate, at which our shared locks wait from then on: within
// a millisecond or so no new reader comes in. Others do not know that file.
type Locker struct {
	fs    *FS
	flock func(f *os.File, exclusive, wait bool) (held bool, err error) // nil: the system's
}

// NewLocker returns a Locker of the files below the root of fs.
func NewLocker(fs *FS) *Locker { return &Locker{fs: fs} }

// Locker returns a Locker of the files of s.
func (s *FS) Locker() storage.Locker { return NewLocker(s) }

// Clock returns the system's clock.
func (s *FS) Clock() storage.Clock { return clock.System{} }

// Lock is storage.Locker's.
func (l *Locker) Lock(ctx context.Context, name string, owner storage.Owner, m storage.LockMode) (unlock func() error, err error) {
	f, err := l.KeepLock(ctx, name)
	if err != nil {
		return nil, err
	}
	held, err := f.Lock(ctx, storage.LockRequest{Owner: owner, Mode: m})
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() error {
		defer f.Close()
		return held.Unlock()
	}, nil
}

// KeepLock is storage.LockKeeper's. The file is opened, and made, when it is
// locked for the first time.
func (l *Locker) KeepLock(ctx context.Context, name string) (storage.LockFile, error) {
	if err := storage.LockCancelled(ctx, name); err != nil {
		return nil, err
	}
	if err := storage.CheckKey(name); err != nil {
		return nil, err
	}
	f := &lockFile{fs: l.fs, name: name, flock: l.flock, raw: rawCalls && l.flock == nil}
	if f.flock == nil {
		f.flock = flock
	}
	return f, nil
}

func unlockedTwice(name string) error {
	return fault.New(fault.ErrClosed, "lock", name, "unlocked twice")
}
