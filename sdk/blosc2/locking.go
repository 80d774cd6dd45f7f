package blosc2

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"path"
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Locking says whether a handle locks the container against other processes.
//
// The lock is the one of python-blosc2: a file beside the container
// (NAME.b2lock, in a sparse frame's directory .b2lock, for a store that of its
// embed.b2e), which is made where there is none and stays. Reads share it,
// writes have it alone. Each call is whole: a read of many chunks sees one
// state, a write appears at once, and both go by what is in the container
// then, not by what the handle last saw. HoldingLock joins several calls.
//
// Handles that do not lock are neither kept out nor seen to; those of
// python-blosc2 lock each chunk for itself, and some of its writes do not lock
// at all.
type Locking uint8

// How to lock.
const (
	Unlocked Locking = iota
	// Locked: ErrInvalid for what cannot be locked (a zip, an object of a
	// store, a container in memory or mapped).
	Locked
	// LockedIfPossible leaves those unlocked instead.
	LockedIfPossible
)

// LockingOf returns what the value of the environment variable BLOSC_LOCKING
// asks for, as python-blosc2 reads it. Whoever opens a container says so by
// Options.Locking: nothing here looks at the environment.
func LockingOf(value string) Locking {
	if value == "" || value == "0" {
		return Unlocked
	}
	return LockedIfPossible
}

const (
	lockSuffix = ".b2lock"
	gateSuffix = ".gate" // of what lockers make beside a lock
	counterAt  = 8       // of the lock's file: how many exclusive locks there were
)

// sidecar is the lock of a container: of a frame, or of a store and the frames
// that are its files.
type sidecar struct {
	name string
	file storage.LockFile
	o    Options
}

// openSidecar returns the lock that the options ask for; nil: none.
func openSidecar(ctx context.Context, where *place, o Options) (*sidecar, error) {
	switch {
	case o.Locking == Unlocked || o.Map:
		return nil, nil
	case where.lock != nil:
		return where.lock, nil
	}
	locker := o.Locker
	if l, ok := where.fs.(interface{ Locker() storage.Locker }); ok && locker == nil {
		locker = l.Locker()
	}
	if where.file != nil || locker == nil {
		if o.Locking == LockedIfPossible {
			return nil, nil
		}
		return nil, fault.New(fault.ErrInvalid, "locking", where.name, "only containers in files and directories are locked")
	}
	name := where.name + lockSuffix
	if where.sparse {
		name = join(where.name, lockSuffix)
	}
	if !o.LockNetwork {
		info, err := where.fs.StatFS(ctx, dirOf(name))
		if err != nil {
			return nil, err
		}
		if info.Network {
			return nil, fault.New(fault.ErrUnsupported, "locking", name, "on a network file system ("+info.Kind+") a lock may not hold between machines: set LockNetwork if it does, or open without locking")
		}
	}
	file, err := storage.OpenLockFile(ctx, locker, where.fs, o.clock(where.fs), name)
	if err != nil {
		return nil, err
	}
	return &sidecar{name, file, o}, nil
}

// clock is the one to wait by; nil: there is none.
func (o *Options) clock(fs storage.FS) storage.Clock {
	if c, ok := fs.(interface{ Clock() storage.Clock }); ok && o.Clock == nil {
		return c.Clock()
	}
	return o.Clock
}

// generation is a state of the lock. Whoever finds the one that he left knows
// that no other handle that locks has written since.
type generation struct {
	file    uint64
	counter uint64
}

// grip is a lock that is held.
type grip struct {
	storage.Locked
	mode storage.LockMode
	// found is the generation at the time of locking, now the one since: they
	// differ under an exclusive lock.
	found, now generation
	counter    [8]byte // as it is in the file
}

// lock takes the lock. An exclusive one counts up at once, before anything is
// written and even if nothing will be: whoever is killed then has left a sign.
func (s *sidecar) lock(ctx context.Context, m storage.LockMode, last generation) (*grip, error) {
	h, err := s.file.Lock(ctx, storage.LockRequest{Owner: ownerIn(ctx), Mode: m, Timeout: s.o.LockTimeout})
	if err != nil {
		return nil, err
	}
	g := grips.Get().(*grip)
	*g = grip{Locked: h, mode: m}
	if err := g.count(last); err != nil {
		return nil, errors.Join(err, h.Unlock())
	}
	return g, nil
}

// grips are those that nobody has any more.
var grips = sync.Pool{New: func() any { return new(grip) }}

// end gives the lock back, and the grip with it.
func (g *grip) end() error {
	err := g.Unlock()
	*g = grip{}
	grips.Put(g)
	return err
}

func (g *grip) count(last generation) error {
	b := g.counter[:]
	if n, err := g.ReadAt(b, counterAt); err != nil && !errors.Is(err, io.EOF) {
		return err
	} else if n < len(b) {
		clear(b)
	}
	g.found = generation{g.File(), binary.LittleEndian.Uint64(b)}
	g.now = g.found
	if g.mode != storage.LockExclusive {
		return nil
	}
	g.now.counter++
	if g.now.file != last.file && g.now.counter <= last.counter {
		g.now.counter = last.counter + 1 // the file is another one and begins anew: who knows the old one must not see an old number
	}
	binary.LittleEndian.PutUint64(b, g.now.counter)
	_, err := g.WriteAt(b, counterAt)
	return err
}

// locked calls do while the lock of a frame is held that may not be there. The
// lock of a directory lies in it: without the directory nobody has it.
func (p *place) locked(ctx context.Context, o Options, do func() error) error {
	if p.sparse {
		if _, err := p.fs.Stat(ctx, p.name); errors.Is(err, fault.ErrNotFound) {
			return do()
		}
	}
	s, err := openSidecar(ctx, p, o)
	if err != nil {
		return err
	}
	if s == nil {
		return do()
	}
	g, err := s.lock(ctx, storage.LockExclusive, generation{})
	if err == nil {
		err = first(do(), g.end())
	}
	return first(err, s.file.Close())
}

// ownerKey is under what a context carries the owner of the lock that is held
// where it is used.
type ownerKey struct{}

// ownerIn is the owner of a lock that is taken with ctx: that of the hold
// within which ctx was made, so that whoever waits for himself gets ErrLocked;
// otherwise a new one.
func ownerIn(ctx context.Context) storage.Owner {
	if o, ok := ctx.Value(ownerKey{}).(storage.Owner); ok {
		return o
	}
	return storage.NewOwner()
}

// isLock reports whether a file of a store is a lock, or what lockers make
// beside one.
func isLock(name string) bool {
	ext := path.Ext(name)
	return ext == lockSuffix || ext == gateSuffix
}
