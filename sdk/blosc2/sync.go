package blosc2

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// A frame is looked at before it is used: its header, which every commit
// changes, and what the file system says of it. The C library writes into what
// is there, and it may do so without changing the header; that shows in the
// time of modification. What cannot be seen is such a change by a file system
// that keeps times coarser than settling, within one of its ticks.

const (
	patience = 200                   // tries until what a writer is at is taken for damage
	requests = 25                    // the same of an object of a store, where each is a few requests
	pause    = time.Millisecond      // between them
	settling = 20 * time.Millisecond // until a file that was written to shows whether it was again
	renaming = 100 * time.Millisecond
	glance   = time.Millisecond
)

// started is what durations are measured from: that costs half of asking what
// time it is.
var started = time.Now()

// look is what was seen of the file when the view was known to hold.
type look struct {
	size    int64
	mtime   time.Time
	settled bool // a change since would show in mtime
	lock    generation
}

// look looks at the file, before a view of it is loaded.
func (f *frame) look(file source, g *grip) error {
	info, err := file.Stat()
	if err == nil {
		f.saw(info, g)
	}
	return err
}

func (f *frame) saw(info storage.FileInfo, g *grip) {
	l := &look{size: info.Size, mtime: info.ModTime, settled: time.Since(info.ModTime) > settling}
	if g != nil {
		l.lock = g.now
	}
	f.seen.Store(l)
}

// last is the generation of the lock that the view is of.
func (f *frame) last() generation {
	if l := f.seen.Load(); l != nil {
		return l.lock
	}
	return generation{}
}

// followed reports whether the frame is looked at before each use. An object
// of a store, where a look is a request, is only looked at when asked for; and
// what is within another frame does not change.
func (f *frame) followed() bool { return f.where.file == nil && !f.where.pinned }

// fresh reports whether the view still holds. It needs the lock of the frame,
// shared at least.
func (f *frame) fresh(ctx context.Context, g *grip) (bool, error) {
	v := f.view
	if v == nil {
		return false, f.closed()
	}
	if !f.followed() {
		return true, nil
	}
	l := f.seen.Load()
	// Nobody who locks has written since. What one who does not may have done
	// shows in the header, but for what only the file system knows: its times
	// are not that fine, so it is not asked each time either.
	now := int64(time.Since(started))
	if g != nil && g.mode == storage.LockShared && g.found == l.lock && now-f.asked.Load() < int64(glance) {
		return f.headed(v), nil
	}
	info, err := v.file.Stat()
	if err != nil {
		return false, err
	}
	f.asked.Store(now)
	if moved, err := f.moved(ctx, info); moved || err != nil {
		return false, err
	}
	if !f.headed(v) {
		return false, nil
	}
	same := info.Size == l.size && info.ModTime.Equal(l.mtime)
	if g == nil && same && l.settled || g != nil && same && g.found == l.lock {
		if g != nil && g.now != l.lock {
			f.saw(info, g)
		}
		return true, nil
	}
	// Only a look at index and trailer tells whether that was a writer of ours
	// who has not published yet, or one of the C library who wrote over them.
	// One who wrote over a chunk alone leaves the size as it was.
	if !same && info.Size == l.size || !f.intact(v) {
		return false, nil
	}
	f.saw(info, g)
	return true, nil
}

// trailerAt is where the trailer of the view begins in the frame.
func (v *view) trailerAt() int64 {
	if v.Size == 0 {
		return v.HeaderLen
	}
	return v.FrameLen - int64(len(v.tail))
}

// moved reports whether the name leads to another file than the one that is
// open. One that was replaced has no name any more; whether one that has was
// given another is only looked at now and then.
func (f *frame) moved(ctx context.Context, open storage.FileInfo) (bool, error) {
	now := int64(time.Since(started))
	if open.Links > 0 && now-f.named.Load() <= int64(renaming) {
		return false, nil
	}
	moved, err := f.where.moved(ctx, open)
	if !moved && err == nil {
		f.named.Store(now)
	}
	return moved, err
}

// doubtful reports whether what was read of the view, beginning when it was
// last seen to hold, may be of no state of the frame. It needs the lock of the
// frame.
func (f *frame) doubtful(ctx context.Context, g *grip, before *look, failed error) bool {
	if !f.followed() {
		return failed != nil && !f.headed(f.view) // the object may have moved on
	}
	if g != nil && failed == nil {
		return false // those who lock were kept out
	}
	info, err := f.view.file.Stat()
	if err != nil {
		return true
	}
	same := info.Size == before.size && info.ModTime.Equal(before.mtime)
	if f.view.Sparse && info.Links == 0 { // chunk files went with it
		return true
	}
	if failed != nil {
		return !same || !before.settled && time.Since(info.ModTime) < settling || !f.headed(f.view)
	}
	return !same && (info.Size == before.size || !f.intact(f.view))
}

// sync brings the view up to date.
func (f *frame) sync(ctx context.Context, g *grip) error {
	f.mu.RLock()
	fresh, err := f.fresh(ctx, g)
	f.mu.RUnlock()
	if fresh || err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	changed, err := f.resync(ctx, g)
	if changed && f.hold != nil && g != nil && f.own { // what shares a store's lock may be changed by its other handles
		f.hold.broken.Store(true)
	}
	return err
}

// refresh looks at the frame and takes over what changed.
func (f *frame) refresh(ctx context.Context) (changed bool, err error) {
	g, err := f.enter(ctx, storage.LockShared)
	if err != nil {
		return false, f.about(err)
	}
	defer func() { err = first(err, f.leave(g)) }()
	changed, err = f.renewed(ctx, g)
	return changed, f.about(err)
}

func (f *frame) renewed(ctx context.Context, g *grip) (bool, error) {
	if f.followed() {
		f.mu.RLock()
		fresh, err := f.fresh(ctx, g)
		f.mu.RUnlock()
		if fresh || err != nil {
			return false, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.resync(ctx, g)
}

// resync loads the frame again, as it is now, and reports whether it differs.
// What a writer is at right now is waited for. It needs the frame's lock,
// exclusively, as reload does.
func (f *frame) resync(ctx context.Context, g *grip) (changed bool, err error) {
	err = f.patiently(ctx, func() error {
		changed, err = f.reload(ctx, g)
		return err
	})
	return changed, err
}

func (f *frame) reload(ctx context.Context, g *grip) (bool, error) {
	old := f.view
	if old == nil {
		return false, f.closed()
	}
	if f.where.pinned {
		return false, nil
	}
	file := old.file
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	moved, err := f.moved(ctx, info)
	if err != nil {
		return false, err
	}
	if moved {
		if file, err = f.where.open(ctx, f.o.Write); err == nil {
			info, err = file.Stat()
		}
		if err != nil {
			return false, err
		}
	}
	next, err := load(ctx, &f.where, file, f.o.Limits)
	if err == nil && !old.shape.alike(next.shape) {
		err = fault.New(fault.ErrStale, "frame", "", "it became an array of other axes, chunks or blocks")
	}
	if err == nil && !moved {
		if err = f.past.overwritten(next); err != nil {
			f.lost, f.view = old, next
		}
	}
	if err != nil {
		if moved {
			file.Close()
		}
		if f.lost == old {
			f.saw(info, g)
			f.tick++
		}
		return false, f.about(err)
	}
	l := f.seen.Load()
	f.saw(info, g)
	if !moved && old.same(next) && !(l != nil && info.Size == l.size && !info.ModTime.Equal(l.mtime)) {
		return false, nil
	}
	f.view = next
	f.past.add(next)
	f.tick++
	if moved {
		f.head.over(ctx, &f.where, file)
		old.file.Close()
	}
	return true, nil
}

// patiently calls do until it does not find the frame in a state that may be
// that of a writer in the middle of something.
func (f *frame) patiently(ctx context.Context, do func() error) error {
	for tries := 0; ; tries++ {
		err := do()
		if !transient(err) || tries == f.patience() || !f.restless() {
			return err
		}
		if ended := f.rest(ctx); ended != nil {
			return ended
		}
	}
}

// patience is how often a state is tried. Where nobody can wait it makes little
// sense.
func (f *frame) patience() int {
	if f.where.object() {
		return requests
	}
	if f.clock == nil {
		return patience / 4
	}
	return patience
}

// restless reports whether the file was written to so lately that somebody may
// be at it. Of an object nobody tells when it was; but one that was whole once
// is more likely in the middle of something than damaged.
func (f *frame) restless() bool {
	l := f.seen.Load()
	if l == nil || f.where.file != nil {
		return f.where.object() && f.view != nil
	}
	info, err := f.where.fs.Stat(context.Background(), f.where.main())
	return errors.Is(err, fault.ErrNotFound) || err == nil && time.Since(info.ModTime) < patience*pause
}

// rest waits a little.
func (f *frame) rest(ctx context.Context) error {
	if f.clock == nil {
		runtime.Gosched()
		return storage.Ended(ctx, f.where.name)
	}
	if err := f.clock.Sleep(ctx, pause); err != nil {
		return storage.Ended(ctx, f.where.name)
	}
	return nil
}

// transient reports whether an error may be that of a state that does not
// last: a writer is in the middle of it, and the bytes mean anything.
func transient(err error) bool {
	if errors.Is(err, errOldHeader) {
		return false
	}
	for _, kind := range []error{fault.ErrCorrupt, fault.ErrNotFound, fault.ErrUnsupported, fault.ErrLimit} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
