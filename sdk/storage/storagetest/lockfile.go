package storagetest

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// LockFile holds what storage.OpenLockFile makes of an adapter to what
// storage.LockFile says. fs holds the files that the locker locks; the clock
// has to be one that goes.
func LockFile(t *testing.T, open func(t *testing.T) (storage.Locker, storage.FS, storage.Clock)) {
	const shared, exclusive = storage.LockShared, storage.LockExclusive
	ctx := context.Background()
	keep := func(t *testing.T, l storage.Locker, fs storage.FS, clock storage.Clock) storage.LockFile {
		t.Helper()
		f, err := storage.OpenLockFile(ctx, l, fs, clock, "c.lock")
		noError(t, err)
		t.Cleanup(func() { f.Close() })
		return f
	}
	request := func(m storage.LockMode) storage.LockRequest {
		return storage.LockRequest{Owner: storage.NewOwner(), Mode: m}
	}
	lock := func(t *testing.T, f storage.LockFile, m storage.LockMode) storage.Locked {
		t.Helper()
		h, err := f.Lock(ctx, request(m))
		noError(t, err)
		return h
	}
	soon := func(m storage.LockMode) storage.LockRequest {
		r := request(m)
		r.Timeout = 20 * time.Millisecond
		return r
	}

	t.Run("content", func(t *testing.T) {
		l, fs, clock := open(t)
		a, b := keep(t, l, fs, clock), keep(t, l, fs, clock)
		h := lock(t, a, exclusive)
		var word [8]byte
		if n, err := h.ReadAt(word[:], 8); n != 0 || err != io.EOF {
			t.Fatalf("a new file has %d bytes, %v", n, err)
		}
		_, err := h.WriteAt([]byte("12345678"), 8)
		noError(t, err)
		number := h.File()
		noError(t, h.Unlock())
		h = lock(t, b, shared)
		_, err = h.ReadAt(word[:], 8)
		noError(t, err)
		equalBytes(t, word[:], []byte("12345678"))
		noError(t, h.Unlock())
		h = lock(t, a, shared)
		if h.File() != number {
			t.Fatal("the same file has another number")
		}
		noError(t, h.Unlock())
	})
	t.Run("timeout", func(t *testing.T) {
		l, fs, clock := open(t)
		a, b := keep(t, l, fs, clock), keep(t, l, fs, clock)
		h := lock(t, a, exclusive)
		for _, m := range []storage.LockMode{shared, exclusive} {
			_, err := b.Lock(ctx, soon(m))
			isError(t, err, fault.ErrLockTimeout)
			_, err = a.Lock(ctx, soon(m))
			isError(t, err, fault.ErrLockTimeout)
		}
		noError(t, h.Unlock())
		noError(t, lock(t, b, exclusive).Unlock())
	})
	t.Run("one owner", func(t *testing.T) {
		l, fs, clock := open(t)
		a, b := keep(t, l, fs, clock), keep(t, l, fs, clock)
		r := request(shared)
		h, err := a.Lock(ctx, r)
		noError(t, err)
		r.Mode = exclusive
		_, err = b.Lock(ctx, r)
		isError(t, err, fault.ErrLocked)
		noError(t, h.Unlock())
	})
	t.Run("replaced", func(t *testing.T) {
		l, fs, clock := open(t)
		a, b := keep(t, l, fs, clock), keep(t, l, fs, clock)
		h := lock(t, a, exclusive)
		number := h.File()
		noError(t, h.Unlock())
		h = lock(t, a, exclusive)
		noError(t, h.Holds(ctx))
		noError(t, fs.Remove(ctx, "c.lock"))
		isError(t, h.Holds(ctx), fault.ErrStale)
		noError(t, h.Unlock())
		h = lock(t, b, exclusive)
		_, err := a.Lock(ctx, soon(exclusive))
		isError(t, err, fault.ErrLockTimeout)
		noError(t, h.Unlock())
		h = lock(t, a, exclusive)
		if h.File() == number {
			t.Fatal("the file was replaced, its number was not")
		}
		noError(t, h.Unlock())
	})
	t.Run("unlocked twice", func(t *testing.T) {
		l, fs, clock := open(t)
		a := keep(t, l, fs, clock)
		h := lock(t, a, exclusive)
		noError(t, h.Unlock())
		isError(t, h.Unlock(), fault.ErrClosed)
	})
}
