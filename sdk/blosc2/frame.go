package blosc2

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// frame is a way to an open frame: that of a handle, which takes the lock for
// each call, or that of a hold, which has it.
type frame struct {
	*body
	hold *hold // nil: none
}

// body is an open frame. It holds one view of it at a time; other processes
// may go on to the next meanwhile.
type body struct {
	where place
	o     Options
	lock  *sidecar      // nil: unlocked
	own   bool          // the lock is this frame's to close
	pin   *pin          // of a snapshot
	clock storage.Clock // nil: none

	mu    sync.RWMutex // held shared by those who use the view and its file
	view  *view        // nil: closed
	tick  uint64
	dirty bool   // committed to and not synced
	safe  source // the file whose name is known to be; see secure
	past  past   // states before
	lost  *view  // a state that another program wrote an old header over; see Repair
	files struct {
		of   *view   // after which all of them are known
		next int64   // above the numbers of all chunk files
		last []int64 // the highest, which nothing names any more
	}
	spare spare // room for what is written
	again again // the block that was read last
	head  head  // how the header is looked at
	seen  atomic.Pointer[look]
	named atomic.Int64 // when the name was last seen to lead to the file; see fresh
	asked atomic.Int64 // when the file system was last asked about the file
}

func openFrame(ctx context.Context, where place, o Options) (*frame, error) {
	lock, err := openSidecar(ctx, &where, o)
	if err != nil {
		return nil, err
	}
	where.mapped = o.Map
	b := &body{where: where, o: o, lock: lock, own: where.lock == nil, clock: o.clock(where.fs)}
	f := &frame{b, where.hold}
	if err := f.begin(ctx); err != nil {
		if lock != nil && b.own {
			err = errors.Join(err, lock.file.Close())
		}
		return nil, err
	}
	if o.Write && where.fs != nil && !where.kept {
		sweep(ctx, where.fs, where.name)
		if where.sparse {
			sweep(ctx, where.fs, where.main())
		}
	}
	return f, nil
}

// begin loads the first view.
//
// Whoever made the container is not told that others have its lock by now: he
// would take it for not made, and make it again. What he gets was whole a moment
// ago, and each call brings it up to date.
func (f *frame) begin(ctx context.Context) error {
	begin := func(g *grip) error {
		return f.patiently(ctx, func() error {
			file, err := f.where.open(ctx, f.o.Write)
			if err != nil {
				return err
			}
			if err = f.look(file, g); err == nil {
				f.view, err = load(ctx, &f.where, file, f.o.Limits)
			}
			if err != nil {
				file.Close()
			}
			return err
		})
	}
	err := f.locked(ctx, storage.LockShared, begin)
	if f.o.made && (errors.Is(err, fault.ErrLocked) || errors.Is(err, fault.ErrLockTimeout)) && ctx.Err() == nil {
		err = f.about(begin(nil))
	}
	f.o.made = false
	if err == nil {
		if f.o.Durability != SyncCommits { // which does not go by what others did
			f.safe = f.view.file
		}
		f.past.add(f.view)
		f.head.over(ctx, &f.where, f.view.file)
	}
	return err
}

// about says which file an error is about.
func (f *frame) about(err error) error {
	if e, ok := err.(*fault.Error); err == nil || ok && e.Format == "blosc2" && e.Item == f.where.name {
		return err
	}
	return &fault.Error{Format: "blosc2", Item: f.where.name, Off: -1, Err: err}
}

func (f *frame) closed() error { return fault.New(fault.ErrClosed, "blosc2", f.where.name, "") }

// state returns the view as it is, without a look at the file. Only what lies
// in memory may be used of it.
func (f *frame) state() (*view, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.view == nil || f.hold.over() {
		return nil, f.closed()
	}
	return f.view, nil
}

// read calls do with the state of the frame as it is now. Where handles lock,
// the lock is shared until do returns. Where they do not, do may be called
// again, with the next state, if it fails or somebody wrote over what it was
// reading.
func (f *frame) read(ctx context.Context, do func(v *view) error) error {
	return f.locked(ctx, storage.LockShared, func(g *grip) error { return f.reading(ctx, g, do) })
}

func (f *frame) reading(ctx context.Context, g *grip, do func(v *view) error) error {
	for tries := 0; ; tries++ {
		if err := f.sync(ctx, g); err != nil {
			return err
		}
		err, again := f.try(ctx, g, do)
		if !again {
			return err
		}
		f.asked.Store(-int64(glance)) // all of it is looked at again
		if f.where.object() {         // which is not looked at otherwise
			if err := f.moveOn(ctx, g); err != nil {
				return err
			}
		}
		if tries == f.patience() {
			return first(err, fault.New(fault.ErrStale, "frame", "", "it is written over faster than it can be read"))
		}
		if err != nil {
			if ended := f.rest(ctx); ended != nil {
				return ended
			}
		}
	}
}

// moveOn takes over what an object is by now.
func (f *frame) moveOn(ctx context.Context, g *grip) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.resync(ctx, g)
	return err
}

// readKnown is read for what is in memory as soon as the state is: what others
// do to the file meanwhile does not matter, unless it fails.
func (f *frame) readKnown(ctx context.Context, do func(v *view) error) error {
	return f.locked(ctx, storage.LockShared, func(g *grip) error {
		if err := f.sync(ctx, g); err != nil {
			return err
		}
		v, err := f.state()
		if err != nil {
			return err
		}
		if do(v) == nil {
			return nil
		}
		return f.reading(ctx, g, do)
	})
}

// try calls do, and reports whether that is no answer yet.
func (f *frame) try(ctx context.Context, g *grip, do func(v *view) error) (err error, again bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.view == nil {
		return f.closed(), false
	}
	before := f.seen.Load()
	err = do(f.view)
	if f.where.pinned && (err == nil || transient(err)) {
		return f.overwritten(err), false
	}
	if err != nil && !transient(err) {
		return err, false
	}
	return err, f.doubtful(ctx, g, before, err)
}

// close closes the frame; to a hold it is not to close.
func (f *frame) close() error {
	if f.hold != nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.view == nil {
		return nil
	}
	file := f.view.file
	var err error
	if w, ok := file.(storage.File); ok && f.dirty && f.o.Durability == SyncOnClose {
		err = w.Sync()
		if s := f.secure(context.Background()); err == nil {
			err = s
		}
	}
	f.view = nil
	f.head.close()
	f.pin.drop()
	if f.lock != nil && f.own {
		err = errors.Join(err, f.lock.file.Close())
	}
	return errors.Join(err, file.Close())
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// names returns those of metalayers, in their order.
func names(layers []Metalayer) []string {
	list := []string{}
	for _, m := range layers {
		list = append(list, m.Name)
	}
	return slices.Clip(list)
}
