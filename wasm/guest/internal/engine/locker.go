package engine

import (
	"context"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// locker is the locks of a file system of the host's, which are those of the
// whole host process. A host that answers at once does not wait in the import,
// which would keep whoever holds the lock from giving it back: what it answers
// Locked it asks the operation for again.
type locker struct{ fileSystem }

// Locker is what package blosc2 asks a file system for.
func (s fileSystem) Locker() storage.Locker { return locker{s} }

// Clock is what package blosc2 asks a file system for.
func (s fileSystem) Clock() storage.Clock { return clock{s.engine} }

// Lock implements [storage.Locker].
func (l locker) Lock(ctx context.Context, name string, owner storage.Owner, m storage.LockMode) (func() error, error) {
	if err := storage.CheckLockMode(name, m); err != nil {
		return nil, err
	}
	if err := storage.LockCancelled(ctx, name); err != nil {
		return nil, err
	}
	w, err := l.engine.take()
	if err != nil {
		return nil, err
	}
	defer l.engine.tokens.put(w)
	c := &LockCall{Name: []byte(name), Wire: wire.Lock{FS: l.id, Mode: uint32(m), Owner: uint64(owner)}}
	w.rare = c
	n, err := l.engine.settle(ctx, w, l.engine.host.Lock(w.token, c))
	switch {
	case err != nil:
		return nil, storage.LockEnded(ctx, name)
	case n < 0:
		return nil, l.engine.failure(w, n, "lock", name)
	}
	lock := &file{engine: l.engine, id: c.Stat.ID, name: name}
	return func() error {
		if lock.shut.Swap(true) {
			return fault.New(fault.ErrClosed, "lock", name, "unlocked twice")
		}
		_, err := lock.raw(func(token uint32) int32 { return l.engine.host.Unlock(token, lock.id) }, nil)
		return err
	}, nil
}
