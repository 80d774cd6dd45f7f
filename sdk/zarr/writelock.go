package zarr

import (
	"context"
	"reflect"
	"sync"

	"github.com/gridhold/gridhold/sdk/storage"
)

// keyLocks lets one writer of this process at a key of a store at a time.
type keyLocks struct {
	mu    sync.Mutex
	locks map[lockName]*keyLock
}

// lockName names a key of a store, by the store's identity if it has one.
type lockName struct{ store, key any }

type keyLock struct {
	held chan struct{} // has a value while the key is locked
	refs int           // holders and waiters; guarded by keyLocks.mu
}

// writers is one for the process: two arrays opened in the same store meet
// here.
var writers = keyLocks{locks: map[lockName]*keyLock{}}

// lock waits until nobody else writes at key, or ctx ends.
func (k *keyLocks) lock(ctx context.Context, st storage.Store, key string) (unlock func(), err error) {
	name := lockName{storeName(st), key}
	k.mu.Lock()
	l := k.locks[name]
	if l == nil {
		l = &keyLock{held: make(chan struct{}, 1)}
		k.locks[name] = l
	}
	l.refs++
	k.mu.Unlock()
	leave := func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.refs--; l.refs == 0 {
			delete(k.locks, name)
		}
	}
	select {
	case l.held <- struct{}{}:
		return func() { <-l.held; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, storage.Ended(ctx, key)
	}
}

func storeName(st storage.Store) any {
	if n, ok := st.(interface{ Identity() string }); ok && n.Identity() != "" {
		return n.Identity()
	}
	if !reflect.TypeOf(st).Comparable() {
		return reflect.TypeOf(st) // all stores of that type wait for each other
	}
	return st
}
