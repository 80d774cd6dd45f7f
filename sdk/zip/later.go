package zip

import (
	"context"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Later is a Store that is opened when it is first read, by that reader's
// context. Safe for concurrent use.
//
// Errors are those of Store and of Open, but for an archive that is not there:
// that is ErrInvalid, since ErrNotFound would say that there is no such member,
// which of a chunk means fill values.
type Later struct {
	inner storage.Store
	key   string
	o     Options
	open  atomic.Pointer[Store]
}

// OpenLater returns the archive that is the object under key.
func OpenLater(inner storage.Store, key string, o Options) *Later {
	return &Later{inner: inner, key: key, o: o}
}

func (l *Later) store(ctx context.Context) (*Store, error) {
	if s := l.open.Load(); s != nil {
		return s, nil
	}
	s, err := Open(ctx, l.inner, l.key, l.o)
	if fault.CodeOf(err) == fault.CodeNotFound {
		return nil, fault.New(fault.ErrInvalid, "zip", l.key, "no such archive")
	}
	if err != nil {
		return nil, err
	}
	l.open.CompareAndSwap(nil, s) // of two that opened it, one is kept
	return l.open.Load(), nil
}

// ReadRanges implements [storage.Store].
func (l *Later) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	s, err := l.store(ctx)
	if err != nil {
		return nil, storage.ObjectInfo{}, err
	}
	return s.ReadRanges(ctx, key, rs, want)
}

// List implements [storage.Lister].
func (l *Later) List(ctx context.Context, prefix string) ([]string, error) {
	s, err := l.store(ctx)
	if err != nil {
		return nil, err
	}
	return s.List(ctx, prefix)
}
