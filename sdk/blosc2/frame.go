package blosc2

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// frame is an open frame. It holds one view of it at a time; other processes
// may go on to the next meanwhile.
type frame struct {
	where place
	o     Options

	mu    sync.RWMutex // held shared by those who use the view and its file
	view  *view        // nil: closed
	tick  uint64       // how many views there were before
	dirty bool         // committed to and not synced
}

func openFrame(ctx context.Context, where place, o Options) (*frame, error) {
	f := &frame{where: where, o: o}
	file, err := f.where.open(ctx, o.Write)
	if err != nil {
		return nil, err
	}
	if f.view, err = load(ctx, &f.where, file, o.Limits); err != nil {
		file.Close()
		return nil, f.named(err)
	}
	return f, nil
}

// named says which file an error is about.
func (f *frame) named(err error) error {
	if err == nil {
		return nil
	}
	return &fault.Error{Format: "blosc2", Item: f.where.name, Off: -1, Err: err}
}

// state returns the view as it is, without a look at the file. Only what lies
// in memory may be used of it.
func (f *frame) state() (*view, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.view == nil {
		return nil, fault.New(fault.ErrClosed, "blosc2", f.where.name, "")
	}
	return f.view, nil
}

// read calls do with the view. If that finds damage, or files gone, the frame
// may have moved on: do is called once more, with the next view, if there is
// one.
func (f *frame) read(ctx context.Context, do func(v *view) error) error {
	err := f.try(do)
	if !errors.Is(err, fault.ErrCorrupt) && !errors.Is(err, fault.ErrNotFound) {
		return f.named(err)
	}
	if moved, refreshErr := f.refresh(ctx); refreshErr == nil && moved {
		err = f.try(do)
	}
	return f.named(err)
}

func (f *frame) try(do func(v *view) error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.view == nil {
		return fault.New(fault.ErrClosed, "frame", "", "")
	}
	return do(f.view)
}

// refresh loads the frame again, as it is now, and reports whether it
// differs. What is not whole right now (a writer is at it) is an error, and
// the view stays.
func (f *frame) refresh(ctx context.Context) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reload(ctx)
}

// reload is refresh with the lock held.
func (f *frame) reload(ctx context.Context) (bool, error) {
	old := f.view
	if old == nil {
		return false, fault.New(fault.ErrClosed, "blosc2", f.where.name, "")
	}
	file := old.file
	moved, err := f.where.moved(ctx, file)
	if err != nil {
		return false, err
	}
	if moved {
		if file, err = f.where.open(ctx, f.o.Write); err != nil {
			return false, err
		}
	}
	next, err := load(ctx, &f.where, file, f.o.Limits)
	if err == nil && !old.shape.alike(next.shape) {
		err = fault.New(fault.ErrStale, "frame", "", "it became an array of other axes, chunks or blocks")
	}
	if err != nil || !moved && old.same(next) {
		if moved {
			file.Close()
		}
		return false, f.named(err)
	}
	f.view = next
	f.tick++
	if moved {
		old.file.Close()
	}
	return true, nil
}

func (f *frame) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.view == nil {
		return nil
	}
	file := f.view.file
	f.view = nil
	var err error
	if w, ok := file.(storage.File); ok && f.dirty && f.o.Durability == SyncOnClose {
		err = w.Sync()
	}
	return errors.Join(err, file.Close())
}

// vlvalue decodes the value of a variable-length metalayer.
func (v *view) vlvalue(name string, o Options) ([]byte, error) {
	packed, ok := find(v.vlmeta, name)
	if !ok {
		return nil, fault.New(fault.ErrNotFound, "vlmeta", name, "")
	}
	c, err := blosc.Open(packed, blosc.Options{Limit: int(o.Limits.Meta), Plugins: o.Plugins})
	if err == nil && c.Header().PackedSize != len(packed) {
		err = corrupt(-1, "bytes after the chunk")
	}
	var value []byte
	if err == nil {
		value, err = c.Decode(nil)
	}
	if err != nil {
		return nil, &fault.Error{Format: "vlmeta", Item: name, Off: -1, Err: err}
	}
	return value, nil
}

// names returns those of metalayers, in their order.
func names(layers []Metalayer) []string {
	list := []string{}
	for _, m := range layers {
		list = append(list, m.Name)
	}
	return slices.Clip(list)
}
