package file

import (
	"context"
	"os"
	"strconv"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// process knows who in this process holds which file, by its identity:
// whatever path, Locker or instance of the guest asks, they exclude each
// other here, in order, before the system's lock is asked for.
var process = storage.NewMemoryLocker()

// Locker locks the files of a directory against this and other processes:
// with flock on Unix, LockFileEx on Windows, ErrUnsupported elsewhere. The
// system frees the locks of a process that ends. On network file systems they
// hold as far as those promise.
//
// The file of a name is made where there is none, empty, and stays. Within
// the process the order is that of storage.MemoryLocker; between processes
// whoever tries first gets the lock, trying about every 1 to 25 ms.
type Locker struct{ fs *FS }

// NewLocker returns a Locker of the files below the root of fs.
func NewLocker(fs *FS) *Locker { return &Locker{fs} }

// Lock is storage.Locker's.
func (l *Locker) Lock(ctx context.Context, name string, owner storage.Owner, m storage.LockMode) (unlock func() error, err error) {
	if err := storage.CheckLockMode(name, m); err != nil {
		return nil, err
	}
	if err := storage.LockEnded(ctx, name); err != nil {
		return nil, err
	}
	if err := storage.CheckKey(name); err != nil {
		return nil, err
	}
	for {
		f, s, err := l.open(name)
		if err != nil {
			return nil, err
		}
		unlock, err := lockFile(ctx, f, s, name, owner, m)
		if err != nil {
			f.Close()
			return nil, err
		}
		// While we waited the file may have been replaced by one that others
		// already lock.
		if again, now, err := l.open(name); err == nil {
			again.Close()
			if now.sameFile(s) {
				return unlock, nil
			}
		}
		if err := unlock(); err != nil {
			return nil, err
		}
	}
}

func (l *Locker) open(name string) (*os.File, stat, error) {
	f, err := openFlags(l.fs.root, name, storage.OpenWrite|storage.OpenCreate)
	if err != nil {
		return nil, stat{}, failure(name, err)
	}
	s, _, err := fstat(f, f.Fd())
	if err != nil {
		f.Close()
		return nil, stat{}, failure(name, err)
	}
	return f, s, nil
}

// lockFile takes both locks on f; unlock gives them back in turn and closes
// f.
func lockFile(ctx context.Context, f *os.File, s stat, name string, owner storage.Owner, m storage.LockMode) (func() error, error) {
	id := strconv.FormatUint(s.dev, 16) + "." + strconv.FormatUint(s.ino, 16)
	leave, err := process.Lock(ctx, id, owner, m)
	if err != nil {
		return nil, fault.New(err, "lock", name, "")
	}
	if err := await(ctx, f, name, m); err != nil {
		leave()
		return nil, err
	}
	return func() error {
		// The system's lock goes first, by closing: whoever comes in next
		// here asks for it anew.
		err := f.Close()
		if e := leave(); e != nil {
			return fault.New(fault.ErrClosed, "lock", name, "unlocked twice")
		}
		return failure(name, err)
	}, nil
}

// await tries for the system's lock until it has it. The call that would wait
// cannot be cancelled.
func await(ctx context.Context, f *os.File, name string, m storage.LockMode) error {
	pause := time.Millisecond
	for {
		held, err := tryLock(f, m == storage.LockExclusive)
		if held || err != nil {
			return failure(name, err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return storage.LockEnded(ctx, name)
		case <-timer.C:
		}
		pause = min(2*pause, 25*time.Millisecond)
	}
}
