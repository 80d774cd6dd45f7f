package blosc2

import (
	"context"
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Snapshot returns the frame as it is now, to be read for as long as it is
// open, whatever is written meanwhile: a commit never writes over what a state
// consists of, so nobody waits for it but Compact. It takes no lock after this
// call, keeps one file open, and cannot be written to.
//
// That is so among handles of this package. Where python-blosc2 writes over
// the state, reading is ErrStale; so it is in a sparse frame when another
// process replaced chunks.
func (s *SChunk) Snapshot(ctx context.Context) (*SChunk, error) {
	f, err := s.f.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return &SChunk{f}, nil
}

// Snapshot is SChunk's.
func (a *NDArray) Snapshot(ctx context.Context) (*NDArray, error) {
	s, err := a.s.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return &NDArray{s}, nil
}

// Snapshot is SChunk's: all keys, and what is under them.
func (e *EmbedStore) Snapshot(ctx context.Context) (*EmbedStore, error) {
	s, err := e.s.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return newEmbedStore(s), nil
}

// snapshot opens the frame a second time, as it is now.
func (f *frame) snapshot(ctx context.Context) (*frame, error) {
	if _, err := f.state(); err != nil {
		return nil, err
	}
	b := &body{where: f.where, o: f.o, lock: f.lock, clock: f.clock}
	b.o.Write, b.o.Locking = false, Unlocked
	s := &frame{b, f.hold}
	var err error
	if b.pin, err = pins.add(ctx, &f.where); err != nil {
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
		b.pin.drop()
		return nil, err
	}
	b.where.pinned, b.lock, s.hold = true, nil, nil
	return s, nil
}

// overwritten returns ErrStale if what a snapshot is of is not there any more.
// It needs the lock of the frame.
func (f *frame) overwritten(failed error) error {
	info, err := f.view.file.Stat()
	if err != nil {
		return err
	}
	l := f.seen.Load()
	same := info.Size == l.size && info.ModTime.Equal(l.mtime) && l.settled
	if same && failed == nil || f.intact(f.view) && (failed == nil || !f.view.Sparse) {
		if !same {
			f.saw(info, nil)
		}
		return failed
	}
	return fault.New(fault.ErrStale, "frame", "", "another program wrote over what the snapshot is of")
}

// pins are the snapshots that this process has open, by the file that they
// keep from being replaced, or the directory whose files they keep.
var pins = pinTable{held: map[identity]*pinned{}}

type identity struct{ dev, ino uint64 }

type pinTable struct {
	mu   sync.Mutex
	held map[identity]*pinned
}

type pinned struct {
	count int
	free  chan struct{} // closed when there are none any more
	after []func()      // called then
}

// pin is one snapshot; nil is none.
type pin struct {
	id   identity
	once sync.Once
}

func (t *pinTable) id(ctx context.Context, p *place) (identity, error) {
	if p.fs == nil {
		return identity{}, nil
	}
	info, err := p.fs.Stat(ctx, p.name)
	return identity{info.Dev, info.Ino}, err
}

func (t *pinTable) add(ctx context.Context, p *place) (*pin, error) {
	id, err := t.id(ctx, p)
	if err != nil || id == (identity{}) {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	held := t.held[id]
	if held == nil {
		held = &pinned{free: make(chan struct{})}
		t.held[id] = held
	}
	held.count++
	return &pin{id: id}, nil
}

func (p *pin) drop() {
	if p == nil {
		return
	}
	p.once.Do(func() {
		for _, f := range pins.drop(p.id) {
			f()
		}
	})
}

func (t *pinTable) drop(id identity) []func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	held := t.held[id]
	if held.count--; held.count > 0 {
		return nil
	}
	delete(t.held, id)
	close(held.free)
	return held.after
}

// wait returns when there are no snapshots of a frame.
func (t *pinTable) wait(ctx context.Context, p *place) error {
	for {
		id, err := t.id(ctx, p)
		if err != nil {
			return err
		}
		t.mu.Lock()
		held := t.held[id]
		t.mu.Unlock()
		if held == nil {
			return nil
		}
		select {
		case <-held.free:
		case <-ctx.Done():
			return storage.Ended(ctx, p.name)
		}
	}
}

// later calls do when there are no snapshots of a frame any more; false: there
// are none now.
func (t *pinTable) later(ctx context.Context, p *place, do func()) (bool, error) {
	id, err := t.id(ctx, p)
	if err != nil {
		return false, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	held := t.held[id]
	if held == nil {
		return false, nil
	}
	held.after = append(held.after, do)
	return true, nil
}
