package scratch

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// CreateHostImageScratch makes a scratch in memory. What fits into maxSize
// bytes is held, file by file in ascending order of key, whole runs of
// runLength images (fewer at the end of a file, and of images so large that a
// run would have more than 64 MiB); the rest is read from the files. Memory is
// taken as runs are taken in.
//
// files opens what the keys of the locations name; every file is opened once
// to see what it is. It is the caller's, and must not read through the
// scratch itself.
//
// Errors: ErrInvalid for a runLength below 1 and where there is nothing to
// hold, or no room for one run; ErrOutOfRange for an index that its stack
// lacks; whatever opening a file gives.
func CreateHostImageScratch(ctx context.Context, locations *image.ImageLocationGrouping, runLength, maxSize int64, files image.ReaderProvider, o Options) (*ImageScratch, error) {
	b, err := newBuilder(locations, runLength, files, o)
	if err != nil {
		return nil, err
	}
	l, stamps, err := b.describe(ctx, nil, memoryAlignment)
	if err == nil {
		err = roomFor(l, maxSize, "")
	}
	if err != nil {
		return nil, errors.Join(err, b.sources.close())
	}
	s := newScratch(l, maxSize, b.sources, o, b.count)
	s.shelf = newMemory(l, stamps, maxSize)
	return s, nil
}

// memoryAlignment is where runs in memory begin, in bytes.
const memoryAlignment = 64

// make makes a file anew, in the place of one that is there if it is to be
// replaced. quotaOf says how many bytes of pixels may be held. The donors are
// the scratch's, or closed.
func (b *builder) make(ctx context.Context, fs storage.FS, path string, donors []*donor, replace bool, quotaOf func(*header) (int64, error)) (_ *ImageScratch, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(donors))
		}
	}()
	l, stamps, err := b.describe(ctx, donors, page)
	if err != nil {
		return nil, err
	}
	h := newHeader(l, fingerprint(b.locations, b.runLength), newSalt())
	if h.overhead() > mostOverhead {
		return nil, fault.New(fault.ErrLimit, "scratch", path, "a header of more than a gibibyte")
	}
	quota, err := quotaOf(h)
	if err != nil {
		return nil, err
	}
	donors = slices.DeleteFunc(donors, func(d *donor) bool {
		if d.gone {
			d.close() // nothing was written
		}
		return d.gone
	})
	f, unlock, err := createFile(ctx, fs, path, h, stamps, quota, replace, b.o)
	if err != nil {
		return nil, err
	}
	return b.scratch(fs, path, newFile(h, f, path, unlock, b.o, b.count), quota, donors), nil
}

// scratch puts the parts together.
func (b *builder) scratch(fs storage.FS, name string, shelf *fileShelf, quota int64, donors []*donor) *ImageScratch {
	s := newScratch(shelf.layout, quota, b.sources, b.o, b.count)
	s.name, s.shelf, s.donors = name, shelf, donors
	s.space.fs, s.space.name = fs, name
	s.touch()
	// A larger one of others who use the file counts for them as well.
	if theirs, err := shelf.number(atQuota); err == nil && int64(theirs) < quota {
		shelf.setNumber(atQuota, uint64(quota)) // a hint
	}
	return s
}

// builder is what makes a scratch of any kind.
type builder struct {
	locations *image.ImageLocationGrouping
	runLength int64
	sources   *sources
	count     *counters
	o         Options
}

func newBuilder(locations *image.ImageLocationGrouping, runLength int64, files image.ReaderProvider, o Options) (*builder, error) {
	switch {
	case runLength < 1:
		return nil, fault.New(fault.ErrInvalid, "scratch", "", "a run must have at least one image")
	case locations == nil || locations.Len() == 0:
		return nil, fault.New(fault.ErrInvalid, "scratch", "", "there is nothing to hold")
	case files == nil:
		return nil, fault.New(fault.ErrInvalid, "scratch", "", "there is nothing that opens files")
	}
	count := new(counters)
	return &builder{locations, runLength, newSources(files, o, count), count, o}, nil
}

// roomFor returns ErrInvalid if not one run fits.
func roomFor(l *layout, bytes int64, name string) error {
	for range l.all(bytes) {
		return nil
	}
	return fault.New(fault.ErrInvalid, "scratch", name, "there is nothing to hold: not one run fits into the size that is allowed")
}

// checkFS refuses a directory whose locks may not hold.
func (b *builder) checkFS(ctx context.Context, fs storage.FS, dir string) error {
	info, err := fs.StatFS(ctx, dir)
	switch {
	case errors.Is(err, fault.ErrUnsupported):
		return nil
	case err != nil:
		return err
	case info.Network && !b.o.Network:
		return fault.New(fault.ErrUnsupported, "scratch", dir, "a network file system ("+info.Kind+"), where two machines would not see each other")
	}
	return nil
}

// describe looks at all files, many at a time, and lays the images out. A file
// that a donor knows in its present state, or that is gone, is not opened.
func (b *builder) describe(ctx context.Context, donors []*donor, alignment int64) (*layout, []stamp, error) {
	n := b.locations.Len()
	is, stamps := make([]image.Description, n), make([]stamp, n)
	err := each(ctx, n, b.o.parallel(), func(i int) error {
		name := b.locations.Group(i).Key
		if len(donors) > 0 {
			var ok bool
			if is[i], stamps[i], ok = b.known(ctx, name, donors); ok {
				return nil
			}
		}
		return b.sources.use(ctx, name, func(src *source) error {
			is[i], stamps[i] = src.Describe(), src.stamp
			return nil
		})
	})
	if err != nil {
		return nil, nil, err
	}
	l, err := plan(b.locations, is, b.runLength, alignment)
	return l, stamps, err
}

// known asks donors what a file is.
func (b *builder) known(ctx context.Context, name string, donors []*donor) (image.Description, stamp, bool) {
	now, known, err := b.sources.look(ctx, name)
	gone := errors.Is(err, fault.ErrNotFound)
	if !known || err != nil && !gone {
		return image.Description{}, stamp{}, false
	}
	for _, d := range donors {
		if k := d.find(name); k != nil && gone {
			if now, _, err = d.stampOf(k); err != nil {
				continue
			}
		}
		if is, ok := d.describe(name, now); ok {
			if gone {
				b.count.missing.Add(1)
			}
			return is, now, true
		}
	}
	return image.Description{}, stamp{}, false
}

// revalidate looks at all files of a scratch that was there, many at a time.
// remake says that one has become something for which there is no place.
func (b *builder) revalidate(ctx context.Context, shelf *fileShelf) (remake bool, err error) {
	if err := shelf.scrub(); err != nil {
		return false, err
	}
	var misfits atomic.Int64
	err = each(ctx, len(shelf.keys), b.o.parallel(), func(i int) error {
		k := shelf.keys[i]
		now, known, err := b.sources.look(ctx, k.name)
		switch {
		case err != nil:
			// What is held is served without it; the rest says what is wrong
			// when it is asked for.
			b.count.missing.Add(1)
			return storage.Ended(ctx, k.name)
		case !known:
			return nil
		}
		return renew(ctx, b.sources, shelf, b.count, k, now, func() { misfits.Add(1) })
	})
	return misfits.Load() > 0, err
}

// each calls do for 0 to n-1, several at a time, until one fails, and returns
// its error.
func each(ctx context.Context, n, parallel int, do func(i int) error) error {
	if parallel > n {
		parallel = n
	}
	var next atomic.Int64
	var group sync.WaitGroup
	var mu sync.Mutex
	var first error
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = err
		}
		next.Store(int64(n))
	}
	for range parallel {
		group.Add(1)
		fault.Go(func() {
			defer group.Done()
			defer func() { // before Done: nobody reads first any more after that
				if p := recover(); p != nil {
					fail(fault.Recovered(p))
				}
			}()
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				err := storage.Ended(ctx, strconv.FormatInt(i, 10))
				if err == nil {
					err = do(int(i))
				}
				if err != nil {
					fail(err)
					return
				}
			}
		}, func(error) {})
	}
	group.Wait()
	return first
}
