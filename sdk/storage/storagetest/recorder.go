package storagetest

import (
	"context"
	"slices"
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Call is one read that reached a store: ReadRanges, or ReadInto as a batch
// of one.
type Call struct {
	Key    string
	Ranges []storage.Range
	Want   storage.Version
}

// Recorder passes reads on to a store and writes down what was asked. Safe
// for concurrent use.
type Recorder struct {
	inner storage.Store
	mu    sync.Mutex
	calls []Call
	bytes int64
}

// Record wraps a store.
func Record(inner storage.Store) *Recorder { return &Recorder{inner: inner} }

// Calls returns all reads since the last Reset, in order of arrival.
func (r *Recorder) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// Of returns the reads of one key.
func (r *Recorder) Of(key string) []Call {
	return slices.DeleteFunc(r.Calls(), func(c Call) bool { return c.Key != key })
}

// Requests counts the reads of all keys.
func (r *Recorder) Requests() int { return len(r.Calls()) }

// Bytes counts what was answered.
func (r *Recorder) Bytes() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes
}

// Reset forgets everything.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls, r.bytes = nil, 0
}

// ReadRanges is Store's.
func (r *Recorder) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	r.note(Call{key, slices.Clone(rs), want})
	bs, info, err := r.inner.ReadRanges(ctx, key, rs, want)
	for _, b := range bs {
		r.answered(len(b))
	}
	return bs, info, err
}

// ReadInto is BufferReader's.
func (r *Recorder) ReadInto(ctx context.Context, key string, off int64, dst []byte, want storage.Version) (int, storage.ObjectInfo, error) {
	r.note(Call{key, []storage.Range{{Off: off, Len: int64(len(dst))}}, want})
	n, info, err := storage.ReadInto(ctx, r.inner, key, off, dst, want)
	r.answered(n)
	return n, info, err
}

// List is Lister's; ErrUnsupported if the store below has none.
func (r *Recorder) List(ctx context.Context, prefix string) ([]string, error) {
	return listOf(ctx, r.inner, prefix)
}

func (r *Recorder) note(c Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
}

func (r *Recorder) answered(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes += int64(n)
}

func listOf(ctx context.Context, s storage.Store, prefix string) ([]string, error) {
	if l, ok := s.(storage.Lister); ok {
		return l.List(ctx, prefix)
	}
	return nil, fault.New(fault.ErrUnsupported, "store", prefix, "the store has no lists")
}
