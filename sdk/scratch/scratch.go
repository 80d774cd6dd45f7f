package scratch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// ImageScratch holds images of files, so that they are read from there once.
// CreateHostImageScratch, CreateMappedFileImageScratch and
// CreateDirectoryImageScratch make one. Safe for concurrent use.
type ImageScratch struct {
	name    string // of its file; may be ""
	layout  *layout
	shelf   shelf
	quota   int64 // bytes of pixels that this process takes in
	sources *sources
	donors  []*donor
	o       Options
	count   *counters
	space   *space

	mu      sync.Mutex
	flights map[int64]*flight // by run
	checked []atomic.Int64    // by key: when its source was last seen, ns since 1970

	holders atomic.Int64 // whoever may still read; 0: closed
	closed  atomic.Bool  // Close was called
}

func newScratch(l *layout, quota int64, sources *sources, o Options, count *counters) *ImageScratch {
	s := &ImageScratch{
		layout: l, quota: quota, sources: sources, o: o, count: count,
		space: &space{o: o}, flights: map[int64]*flight{}, checked: make([]atomic.Int64, len(l.keys)),
	}
	s.holders.Store(1)
	now := s.sources.now().UnixNano()
	for i := range s.checked {
		s.checked[i].Store(now)
	}
	return s
}

// Close ends the caller's use of the scratch. Its memory, or its hold on its
// file, goes when readers and loaders over it are closed as well. Closing
// twice is fine.
func (s *ImageScratch) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.release()
}

// retain makes the caller one more who may read; release ends that.
func (s *ImageScratch) retain() error {
	for {
		n := s.holders.Load()
		if n == 0 {
			return fault.New(fault.ErrClosed, "scratch", s.name, "")
		}
		if s.holders.CompareAndSwap(n, n+1) {
			return nil
		}
	}
}

func (s *ImageScratch) release() error {
	if s.holders.Add(-1) > 0 {
		return nil
	}
	s.touch()
	return errors.Join(s.shelf.close(), closeAll(s.donors), s.sources.close())
}

// Describe says what a file of the scratch was when it was laid out; ok is
// false for a file of which nothing is held.
func (s *ImageScratch) Describe(name string) (is image.Description, ok bool) {
	k := s.layout.find(name)
	if k == nil {
		return image.Description{}, false
	}
	return k.is, true
}

// ReadImages fills dst with images of a file, from first on: those that are
// held from the scratch, the others from the file. len(dst) is a multiple of
// the size of an image. An image is of one state of its file.
//
// A held image whose run is not there is taken in with its run. A scratch
// that cannot take it in, for whatever reason, does not keep it from being
// read.
//
// Errors: ErrInvalid for a dst of another size, or a name that the scratch
// does not know; ErrOutOfRange for an image that the file lacks; ErrNotFound
// for one that has to be read from a file that is not there; ErrStale for a
// file whose images have another size now, or that keeps changing;
// ErrCancelled; ErrClosed.
func (s *ImageScratch) ReadImages(ctx context.Context, name string, dst []byte, first int64) error {
	if s.closed.Load() {
		return fault.New(fault.ErrClosed, "scratch", s.name, "")
	}
	k := s.layout.find(name)
	if k == nil {
		return fault.New(fault.ErrInvalid, "scratch", name, "not a file of this scratch")
	}
	if err := s.retain(); err != nil {
		return err
	}
	defer s.release()
	return s.readImages(ctx, k, dst, first)
}

// readImages is ReadImages for who holds the scratch.
func (s *ImageScratch) readImages(ctx context.Context, k *key, dst []byte, first int64) error {
	size := k.imageBytes()
	if int64(len(dst))%size != 0 {
		return fault.New(fault.ErrInvalid, "scratch", k.name, "a destination that is not a number of images long")
	}
	if first < 0 {
		return fault.New(fault.ErrOutOfRange, "scratch", k.name, "a negative index")
	}
	if err := storage.Ended(ctx, k.name); err != nil {
		return err
	}
	if s.o.Revalidate > 0 {
		if err := s.revalidate(ctx, k); err != nil {
			return err
		}
	}
	for n := int64(len(dst)) / size; n > 0; {
		count, r, held := s.stretch(k, first, n)
		part := dst[:count*size]
		var err error
		if held {
			pos, _ := k.find(first)
			err = s.readRun(ctx, s.sources, r, part, (pos-r.pos)*size)
		} else {
			err = s.sources.read(ctx, k.name, k.is, part, first)
		}
		if err != nil {
			return err
		}
		dst, first, n = dst[len(part):], first+count, n-count
	}
	return nil
}

// stretch returns how many of n images from first on are to be read in one
// go: those that lie in one run, or those that are not held.
func (s *ImageScratch) stretch(k *key, first, n int64) (count int64, r run, held bool) {
	for count < n {
		pos, ok := k.find(first + count)
		if ok {
			ok = k.runAt(pos).end() <= s.quota
		}
		switch {
		case ok && count == 0:
			r, held = k.runAt(pos), true
		case ok != held, ok && k.runAt(pos).n != r.n:
			return count, r, held
		}
		count++
	}
	return count, r, held
}

// revalidate looks at the source of a key, if it has been believed for long
// enough. What has become of it is dealt with where it is next taken in.
func (s *ImageScratch) revalidate(ctx context.Context, k *key) error {
	last, now := s.checked[k.place].Load(), s.sources.now().UnixNano()
	believed := last <= now && now-last < int64(s.o.Revalidate) // later than now: the clock was put back
	if believed || !s.checked[k.place].CompareAndSwap(last, now) {
		return nil
	}
	is, known, err := s.sources.look(ctx, k.name)
	if !known || err != nil {
		return storage.Ended(ctx, k.name) // what is held is served without it
	}
	return renew(ctx, s.sources, s.shelf, s.count, k, is, nil)
}

// renew gives a key the stamp that its source was seen to have now, if that is
// another one. misfit, which may be nil, is called if the source has become
// something that there is no place for. Of a source that cannot be opened,
// nothing is held any more. That the shelf cannot be written to is no error:
// then it does not give what it holds of the key, either.
func renew(ctx context.Context, from *sources, to shelf, count *counters, k *key, now stamp, misfit func()) error {
	if old, _, err := to.stampOf(k); err == nil && old.same(now) && !old.misfit {
		return nil
	}
	err := from.use(ctx, k.name, func(src *source) error {
		if _, fits, err := agree(to, count, k, src); err == nil && !fits && misfit != nil {
			misfit()
		}
		return nil
	})
	if err == nil || errors.Is(err, fault.ErrNotFound) || storage.Ended(ctx, k.name) != nil {
		return storage.Ended(ctx, k.name)
	}
	// Whoever asks for an image of it is told what is wrong.
	now.misfit = true
	_, _ = to.restamp(k, now)
	return nil
}

// agree sees to it that a key has the stamp of its open source, and returns
// the generation. fits is false if the source has become something that the
// scratch has no place for. ErrLocked if another process is at it.
func agree(to shelf, count *counters, k *key, src *source) (generation uint32, fits bool, err error) {
	fits = k.fits(src.Describe())
	old, generation, err := to.stampOf(k)
	if err == nil && old.same(src.stamp) && old.misfit == !fits {
		return generation, fits, nil
	}
	now := src.stamp
	now.misfit = !fits
	if generation, err = to.restamp(k, now); err != nil {
		return 0, false, err
	}
	count.changed.Add(1)
	return generation, fits, nil
}

// touch notes that the scratch is in use.
func (s *ImageScratch) touch() {
	if f, ok := s.shelf.(*fileShelf); ok {
		last, now := s.space.touched.Load(), s.sources.now().UnixNano()
		if (now-last > int64(time.Minute) || now < last) && s.space.touched.CompareAndSwap(last, now) {
			f.setNumber(atUsed, uint64(now)) // a hint: nothing depends on it being written
		}
	}
}
