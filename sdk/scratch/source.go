package scratch

import (
	"context"
	"errors"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// sources reads the files that a scratch holds images of. What it reads in
// one use is of one state of the file.
type sources struct {
	files image.ReaderProvider
	kept  *image.Kept
	clock storage.Clock // nil: nobody waits
	count *counters
}

func newSources(files image.ReaderProvider, o Options, count *counters) *sources {
	return &sources{files: files, kept: image.KeepOpen(files, o.openFiles()), clock: o.Clock, count: count}
}

func (s *sources) close() error { return s.kept.Close() }

func (s *sources) now() time.Time {
	if s.clock != nil {
		return s.clock.Now()
	}
	return time.Now()
}

// look returns the stamp of a file without opening it; known is false where
// the provider cannot tell.
func (s *sources) look(ctx context.Context, name string) (is stamp, known bool, err error) {
	stater, ok := s.files.(image.Stater)
	if !ok {
		return stamp{}, false, nil
	}
	info, err := stater.Stat(ctx, name)
	switch {
	case errors.Is(err, fault.ErrUnsupported):
		return stamp{}, false, nil
	case err != nil:
		return stamp{}, true, err
	}
	return stampOf(info), true, nil
}

// source is a file that is open, in the state that stamp names.
type source struct {
	image.Reader
	name  string
	file  image.FileReader // nil where it is not one file
	stamp stamp
	// settled: a later change would give another stamp. Only then may what is
	// read be kept.
	settled bool
}

// use opens the file of a name and calls do. If the file has changed when do
// returns, do is called once more with what it is then; ErrStale if it changes
// again. do must have no effect that cannot be repeated.
func (s *sources) use(ctx context.Context, name string, do func(src *source) error) error {
	for try := 0; ; try++ {
		err := s.once(ctx, name, do)
		var moved *movedError
		if !errors.As(err, &moved) || try == 1 {
			return err
		}
	}
}

func (s *sources) once(ctx context.Context, name string, do func(src *source) error) (err error) {
	r, err := s.kept.Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	src := &source{Reader: r, name: name, settled: true}
	if f, ok := r.(image.FileReader); ok {
		src.file = f
		if src.stamp, err = src.look(); err != nil {
			return err
		}
	}
	if err := do(src); err != nil {
		if changed := src.still(); changed != nil {
			return changed
		}
		return err
	}
	return src.still()
}

// settle waits until a change of the source would show, which takes at most
// one tick of the clock that stamps files; without a clock nobody waits.
func (s *sources) settle(ctx context.Context, src *source) error {
	d := src.stamp.unsettled(s.now())
	switch {
	case d == 0:
		return nil
	case s.clock == nil:
		src.settled = false
		return nil
	}
	s.count.settled.Add(1)
	if s.clock.Sleep(ctx, d) != nil {
		return storage.Ended(ctx, src.name)
	}
	src.settled = src.stamp.unsettled(s.now()) == 0
	return src.still()
}

// look returns the stamp of the open file.
func (src *source) look() (stamp, error) {
	info, err := src.file.File().Stat()
	if err != nil {
		return stamp{}, err
	}
	if info.Links == 0 {
		return stamp{}, fault.New(fault.ErrNotFound, "scratch", src.name, "it was removed")
	}
	return stampOf(info), nil
}

// still returns nil if the file is what it was.
func (src *source) still() error {
	if src.file == nil {
		return nil
	}
	if now, err := src.look(); err == nil && now != src.stamp {
		return &movedError{fault.New(fault.ErrStale, "scratch", src.name, "it changes while it is read")}
	} else if err != nil {
		return &movedError{err}
	}
	return nil
}

// movedError says that a source was not the same before and after.
type movedError struct{ error }

func (e *movedError) Unwrap() error { return e.error }

// read fills dst with images of a file, from first on. dst has room for
// images of the size that is says.
func (s *sources) read(ctx context.Context, name string, is image.Description, dst []byte, first int64) error {
	return s.use(ctx, name, func(src *source) error {
		if err := src.sameKind(is); err != nil {
			return err
		}
		s.count.sourceReads.Add(1)
		s.count.sourceBytes.Add(int64(len(dst)))
		return src.ReadImages(ctx, dst, first)
	})
}

// sameKind returns ErrStale if the images are not what they were.
func (src *source) sameKind(is image.Description) error {
	now := src.Describe()
	if now.Type == is.Type && now.ImageBytes() == is.ImageBytes() {
		return nil
	}
	return fault.New(fault.ErrStale, "scratch", src.name, "its images have another size or type now")
}
