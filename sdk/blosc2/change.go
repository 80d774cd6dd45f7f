package blosc2

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

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
	if f.where.kept {
		if info, err := f.view.file.Stat(); err == nil && info.Links == 0 {
			return nil, fault.New(fault.ErrStale, "frame", "", "the store has something else under its key by now, or nothing")
		}
	}
	return f.draft(ctx)
}

// commitLock is the byte of a frame's file that is locked while a handle that
// locks makes a commit. The lock's own file keeps handles from each other; but
// anybody may remove that, and then there are two.
const commitLock = siblingLock + 1

// alone is begun for one who locks: until end no other handle of ours makes a
// commit, whichever file it locked.
func (f *frame) alone(ctx context.Context, g *grip) (d *draft, end func(), err error) {
	for {
		v := f.view
		if v == nil {
			return nil, nil, f.closed()
		}
		end := func() {}
		if file, ok := v.file.(storage.File); g != nil && ok {
			unlock, err := file.LockRange(commitLock, storage.LockExclusive)
			if errors.Is(err, fault.ErrLocked) {
				return nil, nil, unkept()
			}
			if err == nil {
				end = func() { _ = unlock() } // the file may be closed by then, and its locks gone
			}
		}
		d, err = f.begun(ctx, g)
		if err == nil && f.hold != nil && g != nil && f.own && (f.view != v || f.hold.broken.Load()) {
			err = unkept() // what was read within the hold is not so any more
		}
		if err != nil {
			end()
			return nil, nil, err
		}
		if f.view.file == v.file {
			return d, end, nil
		}
		end() // it is another file by now
	}
}

// unkept is the error of one who has the lock, when another writes all the
// same.
func unkept() error {
	return fault.New(fault.ErrStale, "frame", "", "somebody wrote to it without its lock, or by that of a file that was removed since")
}

func (f *frame) changing(ctx context.Context, g *grip, do func(d *draft) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, end, err := f.alone(ctx, g)
	if err != nil {
		return err
	}
	defer end()
	defer f.spare.drop()
	if err := do(d); err != nil {
		return err
	}
	f.dirty = true
	if err := d.publish(ctx, g); err != nil {
		return f.unsure(err)
	}
	return f.unsure(d.adopt(ctx, g))
}

// unsure has all of the frame looked at again after a commit that failed: it
// may have been published, and nothing else says that the view is of before.
// Then the name of a new file need not be safe, either.
func (f *frame) unsure(err error) error {
	if err != nil {
		f.asked.Store(-int64(glance))
		f.safe = nil
	}
	return err
}

// secure makes the name of the frame's file outlast a power cut, once a file,
// without which nothing in it does: who gave it the name may have been killed
// before he did. What may not be synced has to be taken as it is.
func (f *frame) secure(ctx context.Context) error {
	if f.safe == f.view.file {
		return nil
	}
	dirs := []string{dirOf(f.where.name)}
	if f.where.sparse {
		dirs = append(dirs, f.where.name)
	}
	for _, dir := range dirs {
		err := f.where.fs.SyncDir(ctx, dir)
		if err != nil && !errors.Is(err, fault.ErrNotAllowed) && !errors.Is(err, fault.ErrUnsupported) {
			return err
		}
	}
	f.safe = f.view.file
	return nil
}

// due returns nil if the draft may be published: the lock is held, by the file
// that the name leads to, and nobody has published another state, which only
// one who had no lock, or another file's, can have done. It is the last thing
// before the write, because nothing keeps them from doing so in between.
func (d *draft) due(ctx context.Context, g *grip) error {
	if g == nil {
		return nil
	}
	if err := g.Holds(ctx); err != nil {
		return err
	}
	if v := d.f.view; !d.f.headed(v) {
		return unkept()
	}
	return nil
}

// tell tells the reader of what was published what need not be decoded again.
func (d *draft) tell(r *ends) {
	n, old := 8*len(d.entries), d.f.view
	if !d.indexed || n > eagerIndex {
		return
	}
	r.index = &index{count: int64(len(d.entries)), plain: slices.Clone(d.f.spare.index[:n]), block: -1}
	if old.chunks == 0 || n == 0 {
		return
	}
	if e, err := old.index.at(0); err == nil && e.value() == d.entries[0] {
		r.first = old.first // which lies where it did
	}
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
		f.tick, f.safe = tick, f.view.file
		f.files.of, f.files.next = f.view, max(d.end, f.files.next)
	} else {
		info, err := old.file.Stat()
		if err != nil {
			return err
		}
		r := &ends{r: io.NewSectionReader(old.file, 0, info.Size)}
		r.parts[0], r.parts[1] = part{0, d.head}, part{d.end, d.tail}
		d.tell(r)
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
