// Package cache is a byte-bounded cache with one load a key at a time.
//
// It keeps what is small, hot and dear to fetch: shard indexes, parsed
// tables. A hit takes no exclusive lock. However many callers ask for a key
// that is not there, one load runs, outside every lock; its failure goes to
// all who waited for it and is not kept; when the last of them leaves, it is
// cancelled.
package cache

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// Cache maps keys to values of a bounded total size. Make it with New. All
// methods may be called concurrently.
type Cache[K comparable, V any] struct {
	budget int64
	size   func(V) int64

	hits, misses, loads atomic.Int64

	mu      sync.RWMutex
	entries map[K]*entry[K, V]
	flights map[K]*flight[V]
	bytes   int64
	order   entry[K, V] // ring of entries; order.next was placed last
}

// entry is a value that is kept. Hits only set used, so that they need no
// exclusive lock; eviction gives an entry that was used since it was placed
// a second turn in front.
type entry[K comparable, V any] struct {
	key        K
	value      V
	size       int64
	used       atomic.Bool
	prev, next *entry[K, V]
}

// flight is a load on its way.
type flight[V any] struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiters int // guarded by Cache.mu
	value   V   // set before done is closed, like err
	err     error
}

// New makes a cache that keeps values of at most budget bytes in all. size
// gives the bytes of a value; a value with a negative size, or one larger
// than the budget, is handed to those who wait for it and not kept.
func New[K comparable, V any](budget int64, size func(V) int64) *Cache[K, V] {
	c := &Cache[K, V]{budget: budget, size: size, entries: map[K]*entry[K, V]{}, flights: map[K]*flight[V]{}}
	c.order.prev, c.order.next = &c.order, &c.order
	return c
}

// Peek returns the value of key if it is kept. It counts as a use and as a
// hit; an absence counts as nothing.
func (c *Cache[K, V]) Peek(key K) (V, bool) {
	c.mu.RLock()
	e := c.entries[key]
	c.mu.RUnlock()
	if e == nil {
		var zero V
		return zero, false
	}
	if !e.used.Load() {
		e.used.Store(true)
	}
	c.hits.Add(1)
	return e.value, true
}

// Get returns the value of key, loading it if it is not kept. load runs on a
// goroutine of its own with a context that carries the values of the first
// caller's and ends when the last waiter has left. Get returns the error of
// load, or that of ctx as soon as ctx ends.
func (c *Cache[K, V]) Get(ctx context.Context, key K, load func(context.Context) (V, error)) (V, error) {
	if v, ok := c.Peek(key); ok {
		return v, nil
	}
	if err := ctx.Err(); err != nil {
		var zero V
		return zero, err
	}
	c.mu.Lock()
	if e := c.entries[key]; e != nil { // placed between Peek and Lock
		c.mu.Unlock()
		c.hits.Add(1)
		return e.value, nil
	}
	c.misses.Add(1)
	f := c.flights[key]
	if f == nil {
		f = c.depart(ctx, key, load)
	}
	f.waiters++
	c.mu.Unlock()

	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		c.leave(key, f)
		var zero V
		return zero, ctx.Err()
	}
}

// depart starts a load. The caller holds mu.
func (c *Cache[K, V]) depart(ctx context.Context, key K, load func(context.Context) (V, error)) *flight[V] {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight[V]{done: make(chan struct{}), cancel: cancel}
	c.flights[key] = f
	c.loads.Add(1)
	fault.Go(func() {
		v, err := load(ctx)
		c.land(key, f, v, err)
	}, func(err error) {
		var zero V
		c.land(key, f, zero, err)
	})
	return f
}

// land settles a flight and keeps what it brought, unless it failed or the
// flight was let go meanwhile (Remove, Clear, or its last waiter left).
func (c *Cache[K, V]) land(key K, f *flight[V], v V, err error) {
	f.value, f.err = v, err
	c.mu.Lock()
	if c.flights[key] == f {
		delete(c.flights, key)
		if err == nil {
			c.place(key, v)
		}
	}
	c.mu.Unlock()
	close(f.done)
	f.cancel()
}

// leave takes a waiter off a flight, and cancels it after the last one.
func (c *Cache[K, V]) leave(key K, f *flight[V]) {
	c.mu.Lock()
	f.waiters--
	last := f.waiters == 0
	if last && c.flights[key] == f {
		delete(c.flights, key)
	}
	c.mu.Unlock()
	if last {
		f.cancel()
	}
}

// place keeps a value and evicts others until the budget holds. The caller
// holds mu.
func (c *Cache[K, V]) place(key K, v V) {
	n := c.size(v)
	if n < 0 || n > c.budget {
		return
	}
	if old := c.entries[key]; old != nil {
		c.unlink(old)
	}
	e := &entry[K, V]{key: key, value: v, size: n}
	c.entries[key] = e
	c.bytes += n
	c.front(e)
	for c.bytes > c.budget {
		last := c.order.prev
		if last != e && last.used.Swap(false) {
			last.prev.next, last.next.prev = last.next, last.prev
			c.front(last)
			continue
		}
		c.unlink(last)
	}
}

func (c *Cache[K, V]) front(e *entry[K, V]) {
	e.prev, e.next = &c.order, c.order.next
	e.prev.next, e.next.prev = e, e
}

func (c *Cache[K, V]) unlink(e *entry[K, V]) {
	e.prev.next, e.next.prev = e.next, e.prev
	delete(c.entries, e.key)
	c.bytes -= e.size
}

// Remove drops every key for which drop is true. A load of such a key that
// is on its way still answers those who wait, and is not kept.
func (c *Cache[K, V]) Remove(drop func(K) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, e := range c.entries {
		if drop(k) {
			c.unlink(e)
		}
	}
	for k := range c.flights {
		if drop(k) {
			delete(c.flights, k)
		}
	}
}

// RemoveIf drops the value of one key if it is kept and drop says so.
func (c *Cache[K, V]) RemoveIf(key K, drop func(V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil && drop(e.value) {
		c.unlink(e)
	}
}

// Clear drops everything.
func (c *Cache[K, V]) Clear() { c.Remove(func(K) bool { return true }) }

// Stats counts since New. Loads counts loads that were started.
type Stats struct {
	Hits    int64 `json:"hits"`
	Misses  int64 `json:"misses"`
	Loads   int64 `json:"loads"`
	Entries int64 `json:"entries"`
	Bytes   int64 `json:"bytes"`
	Budget  int64 `json:"budget"`
}

// WriteJSON implements [rawjson.Value].
func (s Stats) WriteJSON(w *rawjson.Writer) {
	w.Open('{')
	s.WriteMembers(w)
	w.Close('}')
}

// WriteMembers writes what WriteJSON does without the braces, for an object
// that has more in it.
func (s Stats) WriteMembers(w *rawjson.Writer) {
	w.Name("hits").Int(s.Hits)
	w.Name("misses").Int(s.Misses)
	w.Name("loads").Int(s.Loads)
	w.Name("entries").Int(s.Entries)
	w.Name("bytes").Int(s.Bytes)
	w.Name("budget").Int(s.Budget)
}

// Stats returns the counters and what is kept now.
func (c *Cache[K, V]) Stats() Stats {
	c.mu.RLock()
	n, b := int64(len(c.entries)), c.bytes
	c.mu.RUnlock()
	return Stats{Hits: c.hits.Load(), Misses: c.misses.Load(), Loads: c.loads.Load(), Entries: n, Bytes: b, Budget: c.budget}
}
