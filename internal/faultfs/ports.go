package faultfs

import (
	"context"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Locker returns l as the process has it.
func (x *Faults) Locker(l storage.Locker) *Locker { return &Locker{x, l} }

// Locker is a storage.Locker at which things go wrong. A lock that is held
// when the process is killed is free.
type Locker struct {
	x     *Faults
	inner storage.Locker
}

// Lock is storage.Locker's.
func (l *Locker) Lock(ctx context.Context, name string, owner storage.Owner, m storage.LockMode) (func() error, error) {
	var h *hold
	err := l.x.step(Op{Kind: Lock, Name: name}, nil, func(int64) error {
		unlock, err := l.inner.Lock(ctx, name, owner, m)
		if err != nil {
			return err
		}
		h = &hold{unlock}
		l.x.mu.Lock()
		dead := l.x.dead
		if !dead {
			l.x.held[h] = struct{}{}
		}
		l.x.mu.Unlock()
		if dead {
			_ = unlock()
			return ErrKilled
		}
		return nil
	})
	if err != nil {
		if h != nil {
			_ = l.x.free(h)
		}
		return nil, err
	}
	return func() error {
		return l.x.step(Op{Kind: Unlock, Name: name}, nil, func(int64) error { return l.x.free(h) })
	}, nil
}

// free gives a lock back.
func (x *Faults) free(h *hold) error {
	x.mu.Lock()
	delete(x.held, h)
	x.mu.Unlock()
	return h.unlock()
}

// Store returns s as the process has it. It has the powers Putter and Lister,
// which fail where s lacks them, and Checker, for which it reads there; others
// of s it hides.
func (x *Faults) Store(s storage.Store) *Store { return &Store{x, s} }

// Store is a storage.Store at which things go wrong.
type Store struct {
	x     *Faults
	inner storage.Store
}

// Identity is that of the store within.
func (s *Store) Identity() string {
	if n, ok := s.inner.(interface{ Identity() string }); ok {
		return n.Identity()
	}
	return ""
}

// ReadRanges is storage.Store's. Fault.Short is missing of each answer.
func (s *Store) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) (bs [][]byte, info storage.ObjectInfo, err error) {
	const most = 1 << 40 // of which the answer may be less
	err = s.x.step(Op{Kind: Get, Name: key, Len: most}, nil, func(n int64) (err error) {
		bs, info, err = s.inner.ReadRanges(ctx, key, rs, want)
		for i, b := range bs {
			bs[i] = b[:max(int64(len(b))-(most-n), 0)]
		}
		return err
	})
	if err != nil {
		bs = nil
	}
	return bs, info, err
}

// Check is storage.Checker's.
func (s *Store) Check(ctx context.Context, key string, want storage.Version) error {
	return s.x.step(Op{Kind: Get, Name: key}, nil, func(int64) error {
		if c, ok := s.inner.(storage.Checker); ok {
			return c.Check(ctx, key, want)
		}
		_, _, err := s.inner.ReadRanges(ctx, key, []storage.Range{{}}, want)
		return err
	})
}

// Put is storage.Putter's.
func (s *Store) Put(ctx context.Context, key string, data []byte, c storage.Condition) (v storage.Version, err error) {
	w, err := storage.Writer(s.inner)
	if err != nil {
		return "", err
	}
	err = s.x.step(Op{Kind: Put, Name: key, Len: int64(len(data))}, nil, func(int64) (err error) {
		v, err = w.Put(ctx, key, data, c)
		return err
	})
	return v, err
}

// Delete is storage.Putter's.
func (s *Store) Delete(ctx context.Context, key string, c storage.Condition) error {
	w, err := storage.Writer(s.inner)
	if err != nil {
		return err
	}
	return s.x.step(Op{Kind: Delete, Name: key}, nil, func(int64) error { return w.Delete(ctx, key, c) })
}

// List is storage.Lister's.
func (s *Store) List(ctx context.Context, prefix string) (names []string, err error) {
	l, ok := s.inner.(storage.Lister)
	if !ok {
		return nil, fault.New(fault.ErrUnsupported, "store", prefix, "cannot list")
	}
	err = s.x.step(Op{Kind: List, Name: prefix}, nil, func(int64) (err error) {
		names, err = l.List(ctx, prefix)
		return err
	})
	return names, err
}

// Fetcher returns f as the process has it.
func (x *Faults) Fetcher(f storage.Fetcher) *Fetcher { return &Fetcher{x, f} }

// Fetcher is a storage.Fetcher at which things go wrong.
type Fetcher struct {
	x     *Faults
	inner storage.Fetcher
}

// Fetch is storage.Fetcher's. Fault.Short is missing of the body.
func (f *Fetcher) Fetch(ctx context.Context, r storage.Request) (resp storage.Response, err error) {
	err = f.x.step(Op{Kind: Fetch, Name: r.URL, Len: r.Limit}, nil, func(n int64) (err error) {
		resp, err = f.inner.Fetch(ctx, r)
		resp.Body = resp.Body[:max(int64(len(resp.Body))-(r.Limit-n), 0)]
		return err
	})
	if err != nil {
		resp = storage.Response{}
	}
	return resp, err
}
