package blosc2

import (
	"bytes"
	"context"
	"io"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// change makes a new state of the frame and publishes it: all that do did, or
// nothing. It begins with the state as it is, once the lock is held.
func (f *frame) change(ctx context.Context, do func(d *draft) error) error {
	return f.writing(ctx, func(g *grip) error { return f.changing(ctx, g, do) })
}

// writing calls do with the lock that writing takes.
func (f *frame) writing(ctx context.Context, do func(g *grip) error) error {
	if _, err := f.state(); err != nil {
		return err
	}
	if !f.o.Write {
		return fault.New(fault.ErrReadOnly, "blosc2", f.where.name, "not open for writing")
	}
	return f.locked(ctx, storage.LockExclusive, do)
}

// begun is a draft of the state as it is now. It needs the frame's lock,
// exclusively.
func (f *frame) begun(ctx context.Context, g *grip) (*draft, error) {
	if fresh, err := f.fresh(ctx, g); err != nil {
		return nil, err
	} else if !fresh {
		if _, err := f.resync(ctx, g); err != nil {
			return nil, err
		}
	}
	if info, err := f.view.file.Stat(); f.where.kept && err == nil && info.Links == 0 {
		return nil, fault.New(fault.ErrStale, "frame", "", "the store has something else under its key by now, or nothing")
	}
	return f.draft(ctx)
}

func (f *frame) changing(ctx context.Context, g *grip, do func(d *draft) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, err := f.begun(ctx, g)
	if err == nil {
		err = do(d)
	}
	if err != nil {
		return err
	}
	if g != nil {
		if err := g.Holds(ctx); err != nil {
			return err
		}
	}
	if err := d.publish(ctx); err != nil {
		return err
	}
	f.dirty = true
	return d.adopt(ctx, g)
}

// adopt makes what was published the view of the frame. Only what another
// handle changes counts as a change, and metadata, which others go by.
func (d *draft) adopt(ctx context.Context, g *grip) error {
	f := d.f
	old := f.view
	if d.tail == nil {
		tick := f.tick
		if _, err := f.reload(ctx, g); err != nil {
			return err
		}
		f.tick = tick
		f.files.of, f.files.next = f.view, max(d.end, f.files.next)
	} else {
		info, err := old.file.Stat()
		if err != nil {
			return err
		}
		r := &ends{r: io.NewSectionReader(old.file, 0, info.Size)}
		r.parts[0], r.parts[1] = part{0, d.header()}, part{d.end, d.tail}
		next, err := parse(ctx, &f.where, old.file, r, info.Size, f.o.Limits)
		if err != nil {
			return err
		}
		f.view = next
		f.past.add(next)
		f.saw(info, g)
	}
	if !bytes.Equal(old.tail, f.view.tail) || !bytes.Equal(old.raw[fixedLen:], f.view.raw[fixedLen:]) {
		f.tick++
	}
	return nil
}
