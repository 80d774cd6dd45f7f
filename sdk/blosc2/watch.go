package blosc2

import (
	"context"
	"iter"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Change is what Watch tells of.
type Change struct {
	Tick   uint64 // the handle's
	Header Header
	Chunks int64
	Shape  []int64 // nil: not an array
}

// polling is how often a frame is looked at where nothing tells of changes.
const polling = 20 * time.Millisecond

// Watch tells of the state that the frame is in, and of each one that the
// handle finds it in from then on, until ctx ends, which is the last error.
// Where the file system tells of changes (storage.Watcher) it waits for them,
// elsewhere it looks about every 20 ms; ErrUnsupported where there is no clock
// either. States in quick succession may be told of as one. Other errors are
// those of Refresh, after which it goes on if its reader does.
func (s *SChunk) Watch(ctx context.Context) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		wait, stop, err := s.f.watcher(ctx)
		if err != nil {
			yield(Change{}, err)
			return
		}
		defer stop()
		for begun, last := false, uint64(0); ; {
			_, err := s.f.refresh(ctx)
			c := s.f.told()
			if (err != nil || !begun || c.Tick != last) && !yield(c, err) {
				return
			}
			begun, last = begun || err == nil, c.Tick
			if err := wait(ctx); err != nil {
				yield(c, err)
				return
			}
		}
	}
}

// Watch is SChunk's.
func (a *NDArray) Watch(ctx context.Context) iter.Seq2[Change, error] { return a.s.Watch(ctx) }

// Watch is SChunk's.
func (e *EmbedStore) Watch(ctx context.Context) iter.Seq2[Change, error] { return e.s.Watch(ctx) }

// Watch is SChunk's, of embed.b2e: that a file was added or removed shows
// there if the store is locked.
func (d *DictStore) Watch(ctx context.Context) iter.Seq2[Change, error] { return d.embed.s.Watch(ctx) }

// watcher returns how to wait for a change.
func (f *frame) watcher(ctx context.Context) (wait func(context.Context) error, stop func(), err error) {
	if w, ok := f.where.fs.(storage.Watcher); ok && f.followed() {
		if watch, err := w.Watch(ctx, f.where.main()); err == nil {
			return watch.Wait, func() { watch.Close() }, nil
		}
	}
	if f.clock == nil {
		return nil, nil, fault.New(fault.ErrUnsupported, "watch", f.where.name, "nothing tells of changes, and there is no clock")
	}
	return func(ctx context.Context) error {
		if f.clock.Sleep(ctx, polling) != nil {
			return storage.Ended(ctx, f.where.name)
		}
		return nil
	}, func() {}, nil
}

// told is the state that the handle is in.
func (f *frame) told() Change {
	f.mu.RLock()
	defer f.mu.RUnlock()
	c := Change{Tick: f.tick}
	if f.view != nil {
		c.Header, c.Chunks = f.view.Header, f.view.chunks
		if f.view.shape != nil {
			c.Shape = f.view.shape.clone().Shape
		}
	}
	return c
}
