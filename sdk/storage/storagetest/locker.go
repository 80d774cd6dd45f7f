package storagetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Locker holds an adapter to what storage.Locker says. Names that it uses are
// "a" and "b"; they need not be there.
func Locker(t *testing.T, open func(t *testing.T) storage.Locker) {
	const shared, exclusive = storage.LockShared, storage.LockExclusive
	ctx := context.Background()
	lock := func(t *testing.T, l storage.Locker, name string, o storage.Owner, m storage.LockMode) func() error {
		t.Helper()
		unlock, err := l.Lock(ctx, name, o, m)
		noError(t, err)
		return unlock
	}
	// try is a Lock that gives up soon.
	try := func(l storage.Locker, name string, o storage.Owner, m storage.LockMode) (func() error, error) {
		c, cancel := context.WithDeadline(ctx, time.Now().Add(20*time.Millisecond))
		defer cancel()
		return l.Lock(c, name, o, m)
	}

	t.Run("modes", func(t *testing.T) {
		l := open(t)
		for _, tc := range []struct {
			first, second storage.LockMode
			together      bool
		}{{shared, shared, true}, {shared, exclusive, false}, {exclusive, shared, false}, {exclusive, exclusive, false}} {
			unlock := lock(t, l, "a", 1, tc.first)
			if tc.together {
				noError(t, lock(t, l, "a", 2, tc.second)())
			} else {
				_, err := try(l, "a", 2, tc.second)
				isError(t, err, fault.ErrLockTimeout)
				isError(t, err, context.DeadlineExceeded)
			}
			noError(t, lock(t, l, "b", 2, tc.second)())
			noError(t, unlock())
			noError(t, lock(t, l, "a", 2, tc.second)())
		}
	})
	t.Run("same owner", func(t *testing.T) {
		l := open(t)
		unlock := lock(t, l, "a", 1, exclusive)
		for _, m := range []storage.LockMode{shared, exclusive} {
			_, err := l.Lock(ctx, "a", 1, m)
			isError(t, err, fault.ErrLocked)
		}
		noError(t, unlock())
		unlock = lock(t, l, "a", 1, shared)
		_, err := l.Lock(ctx, "a", 1, exclusive)
		isError(t, err, fault.ErrLocked)
		again := lock(t, l, "a", 1, shared)
		noError(t, unlock())
		_, err = try(l, "a", 2, exclusive)
		isError(t, err, fault.ErrLockTimeout)
		noError(t, again())
		noError(t, lock(t, l, "a", 2, exclusive)())
	})
	t.Run("cancelled", func(t *testing.T) {
		l := open(t)
		unlock := lock(t, l, "a", 1, exclusive)
		c, cancel := context.WithCancel(ctx)
		failed := make(chan error)
		go func() {
			_, err := l.Lock(c, "a", 2, exclusive)
			failed <- err
		}()
		cancel()
		err := <-failed
		isError(t, err, fault.ErrCancelled)
		if errors.Is(err, fault.ErrLockTimeout) {
			t.Fatal("cancelled is not too late")
		}
		_, err = l.Lock(c, "b", 2, exclusive)
		isError(t, err, fault.ErrCancelled)
		noError(t, unlock())
		noError(t, lock(t, l, "a", 2, exclusive)())
	})
	t.Run("unlocked twice", func(t *testing.T) {
		l := open(t)
		unlock := lock(t, l, "a", 1, exclusive)
		noError(t, unlock())
		other := lock(t, l, "a", 2, exclusive)
		if unlock() == nil {
			t.Fatal("the second unlock says nothing")
		}
		_, err := try(l, "a", 3, exclusive)
		isError(t, err, fault.ErrLockTimeout)
		noError(t, other())
	})
	t.Run("a writer is not starved", func(t *testing.T) {
		l := open(t)
		reader := lock(t, l, "a", 1, shared)
		wrote := make(chan error)
		go func() {
			unlock, err := l.Lock(ctx, "a", 2, exclusive)
			if err == nil {
				err = unlock()
			}
			wrote <- err
		}()
		// As soon as the writer waits, no later reader comes in.
		for {
			unlock, err := try(l, "a", 3, shared)
			if errors.Is(err, fault.ErrLockTimeout) {
				break
			}
			noError(t, err)
			noError(t, unlock())
			runtime.Gosched() // where there is one thread, the writer never waits else
		}
		noError(t, reader())
		noError(t, <-wrote)
		noError(t, lock(t, l, "a", 3, shared)())
	})
	t.Run("who gives up is no hindrance", func(t *testing.T) {
		l := open(t)
		reader := lock(t, l, "a", 1, shared)
		_, err := try(l, "a", 2, exclusive)
		isError(t, err, fault.ErrLockTimeout)
		noError(t, lock(t, l, "a", 3, shared)())
		noError(t, reader())
	})
	t.Run("wrong mode", func(t *testing.T) {
		_, err := open(t).Lock(ctx, "a", 1, 0)
		isError(t, err, fault.ErrInvalid)
	})
	t.Run("storm", func(t *testing.T) {
		l := open(t)
		var wg sync.WaitGroup
		readers, writers := 0, 0
		var mu sync.Mutex
		failed := make(chan error, 8)
		for g := range cap(failed) {
			wg.Go(func() {
				for i := range 50 {
					m, count := shared, &readers
					if (i+g)%3 == 0 {
						m, count = exclusive, &writers
					}
					unlock, err := l.Lock(ctx, "a", storage.Owner(g+1), m)
					if err != nil {
						failed <- err
						return
					}
					mu.Lock()
					*count++
					if writers > 1 || writers > 0 && readers > 0 {
						err = fmt.Errorf("%d writers and %d readers at once", writers, readers)
					}
					mu.Unlock()
					mu.Lock()
					*count--
					mu.Unlock()
					if e := unlock(); err == nil {
						err = e
					}
					if err != nil {
						failed <- err
						return
					}
				}
			})
		}
		wg.Wait()
		close(failed)
		for err := range failed {
			t.Error(err)
		}
	})
}
