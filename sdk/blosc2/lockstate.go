package blosc2

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// LockState is what can be told of the lock of a container.
type LockState struct {
	Name    string // of its file
	Counter uint64 // exclusive locks so far
	Held    string // "free", "shared", "exclusive"; "not exclusive" where it may only be read
}

// LockStateOf looks at the lock of the container of that name, which it takes
// for a moment if it is free, without counting. ok is false if there is no
// lock file: nobody ever locked the container. Errors are those of locking.
func LockStateOf(ctx context.Context, fs storage.FS, name string, o Options) (s LockState, ok bool, err error) {
	locks := []string{name + lockSuffix}
	if info, err := fs.Stat(ctx, name); err != nil {
		return s, false, err
	} else if info.Dir {
		locks = []string{join(name, lockSuffix), join(name, embedFile+lockSuffix)}
	}
	for _, lock := range locks {
		if _, err := fs.Stat(ctx, lock); err == nil {
			s.Name = lock
		} else if !errors.Is(err, fault.ErrNotFound) {
			return s, false, err
		}
	}
	if s.Name == "" {
		return s, false, nil
	}
	locker := o.Locker
	if l, ok := fs.(interface{ Locker() storage.Locker }); ok && locker == nil {
		locker = l.Locker()
	}
	if locker == nil {
		return s, false, fault.New(fault.ErrUnsupported, "lock", s.Name, "nothing to lock with")
	}
	f, err := storage.OpenLockFile(ctx, locker, fs, o.clock(fs), s.Name)
	if err != nil {
		return s, false, err
	}
	defer f.Close()
	for _, try := range []struct {
		mode storage.LockMode
		held string // if it is got
	}{{storage.LockExclusive, "free"}, {storage.LockShared, "shared"}} {
		h, err := f.Lock(ctx, storage.LockRequest{Owner: storage.NewOwner(), Mode: try.mode, Timeout: time.Millisecond})
		switch {
		case errors.Is(err, fault.ErrReadOnly):
			s.Held = "not exclusive"
			continue
		case errors.Is(err, fault.ErrLockTimeout):
			continue
		case err != nil:
			return s, false, err
		}
		if s.Held == "" {
			s.Held = try.held
		}
		var b [8]byte
		if n, err := h.ReadAt(b[:], counterAt); n == len(b) {
			s.Counter = binary.LittleEndian.Uint64(b[:])
		} else if err != nil && !errors.Is(err, io.EOF) {
			return s, false, errors.Join(err, h.Unlock())
		}
		return s, true, h.Unlock()
	}
	s.Held = "exclusive"
	b := make([]byte, 8)
	g, err := fs.Open(ctx, s.Name, storage.OpenRead)
	if err != nil {
		return s, false, err
	}
	defer g.Close()
	if n, _ := g.ReadAt(b, counterAt); n == len(b) {
		s.Counter = binary.LittleEndian.Uint64(b)
	}
	return s, true, nil
}
