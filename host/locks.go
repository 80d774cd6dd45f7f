package host

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

const lockSize = 24

// patience is how long the import lock waits. Whoever holds the lock may need
// the same instance to give it back, so waiting longer is for the caller of
// the operation, outside.
const patience = 2 * time.Millisecond

// lockerOf returns the locks of a file system, which are those of the process.
func lockerOf(fs storage.FS) storage.Locker {
	switch fs := fs.(type) {
	case interface{ Locker() storage.Locker }:
		return fs.Locker()
	case *file.FS:
		return file.NewLocker(fs)
	}
	return nil
}

// lockFile is the import lock.
func lockFile(c *callContext, args []uint64) (int32, error) {
	in := c.in
	req, err := in.window(args[1], lockSize)
	if err != nil {
		return 0, err
	}
	stat, err := in.window(args[2], statSize)
	if err != nil {
		return 0, err
	}
	name, err := in.window(u64(req, 8), u64(req, 12))
	if err != nil {
		return 0, err
	}
	fs := in.sandbox.systems.get(u32(req, 0))
	if fs == nil {
		return 0, fault.New(fault.ErrInvalid, "file", "", "there is no file system of this number")
	}
	locker := lockerOf(fs)
	if locker == nil {
		return 0, fault.New(fault.ErrUnsupported, "lock", string(name), "the file system has no locks")
	}
	ctx := patiently(c.Context, patience)
	defer ctx.end()
	unlock, err := locker.Lock(ctx, string(name), storage.Owner(i64(req, 16)), storage.LockMode(u32(req, 4)))
	if errors.Is(err, fault.ErrLockTimeout) && c.Err() == nil {
		in.waits = true
		return 0, fault.New(fault.ErrLocked, "lock", string(name), "held by another")
	}
	if err != nil {
		return 0, err
	}
	if in.files.locks == nil {
		in.files.locks = map[uint32]func() error{}
	}
	for in.files.last++; in.files.last == 0 || in.files.locks[in.files.last] != nil; in.files.last++ {
	}
	in.files.locks[in.files.last] = unlock
	binary.LittleEndian.PutUint32(stat[60:], in.files.last)
	return 0, nil
}

// unlockFile is the import unlock.
func unlockFile(c *callContext, args []uint64) (int32, error) {
	unlock := c.in.files.locks[uint32(args[1])]
	if unlock == nil {
		return 0, fault.New(fault.ErrClosed, "lock", "", "is not held")
	}
	delete(c.in.files.locks, uint32(args[1]))
	return 0, unlock()
}

// locked calls do until it does not end for want of a lock: at most for the
// timeout, if there is one, and as long as ctx lasts. Between two tries the
// sandbox is free for others, who may hold the lock.
func locked(ctx context.Context, timeout time.Duration, do func() (reply, bool, error)) (reply, error) {
	deadline := time.Now().Add(timeout)
	for pause := time.Millisecond; ; pause = min(2*pause, 25*time.Millisecond) {
		r, waits, err := do()
		if !waits || !errors.Is(err, fault.ErrLocked) {
			return r, err
		}
		if timeout > 0 && time.Now().After(deadline) {
			return r, &fault.Error{Format: "lock", Off: -1, Why: err.Error(), Err: fault.ErrLockTimeout}
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return r, storage.LockEnded(ctx, "")
		}
	}
}
