package scratch

import (
	"context"
	"errors"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// readRun fills dst with the bytes of a run at off. It takes the run in if it
// is not there, from the source that from opens; with an empty dst it does only
// that, and leaves alone what another process is at.
func (s *ImageScratch) readRun(ctx context.Context, from *sources, r run, dst []byte, off int64) error {
	for {
		if ok := s.load(r, dst, off); ok {
			return nil
		}
		if err := storage.Ended(ctx, r.key.name); err != nil {
			return err
		}
		if s.space.pausing(from.now()) {
			return s.readPast(ctx, from, r, dst, off)
		}
		leave, other := s.board(r, from)
		if other != nil && !other.waitable {
			return s.readPast(ctx, from, r, dst, off)
		}
		if other != nil {
			s.count.waited.Add(1)
			select {
			case <-other.done:
				continue
			case <-ctx.Done():
				return storage.Ended(ctx, r.key.name)
			}
		}
		done, err := s.takeIn(ctx, from, r, dst, off, leave)
		if done || err != nil {
			return err
		}
		return s.readPast(ctx, from, r, dst, off)
	}
}

// load reads from the shelf, and counts.
func (s *ImageScratch) load(r run, dst []byte, off int64) bool {
	if len(dst) == 0 {
		return s.shelf.has(r)
	}
	ok, err := s.shelf.load(r, dst, off)
	if err != nil {
		s.count.unreadable.Add(1)
	}
	if ok {
		n := s.count.hits.Add(int64(len(dst)) / r.key.imageBytes())
		s.count.hitBytes.Add(int64(len(dst)))
		if n&0xfff == 0 {
			s.touch()
		}
	}
	return ok
}

// readPast reads the images at off of a run from their source.
func (s *ImageScratch) readPast(ctx context.Context, from *sources, r run, dst []byte, off int64) error {
	if len(dst) == 0 {
		return nil
	}
	size := r.key.imageBytes()
	for _, p := range r.stretches(off/size, int64(len(dst))/size) {
		part := dst[:p.count*size]
		if err := from.read(ctx, r.key.name, r.key.is, part, p.index); err != nil {
			return err
		}
		dst = dst[len(part):]
	}
	return nil
}

// flight is a run that this process takes in.
type flight struct {
	done chan struct{} // closed when that ends
	// waitable: its source is the scratch's own. One that a prefetch was given
	// may read through this very scratch, by some wrapper, so whoever meets
	// it must not wait for it.
	waitable bool
}

// board makes the caller the one of this process who takes in the run, until
// leave; or returns the flight of the one who does.
func (s *ImageScratch) board(r run, from *sources) (leave func(), other *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flights[r.n]; f != nil {
		return nil, f
	}
	f := &flight{make(chan struct{}), from == s.sources}
	s.flights[r.n] = f
	return func() {
		s.mu.Lock()
		delete(s.flights, r.n)
		s.mu.Unlock()
		close(f.done)
	}, nil
}

// takeIn takes a run in and fills dst with the bytes at off of it. done is
// false if dst still has to be read from the source.
func (s *ImageScratch) takeIn(ctx context.Context, from *sources, r run, dst []byte, off int64, leave func()) (done bool, err error) {
	defer leave()
	release, err := s.shelf.claim(r)
	if err != nil {
		if errors.Is(err, fault.ErrLocked) {
			s.count.bypassed.Add(1)
		} else {
			s.refuse(err)
		}
		return false, nil
	}
	defer release()
	// Whoever had the claim before may have taken it in since we looked.
	if s.load(r, dst, off) {
		return true, nil
	}
	if s.shelf.has(r) {
		s.count.damaged.Add(1)
	}
	if s.space.short(ctx, r.bytes) {
		s.refuse(fault.New(fault.ErrNoSpace, "scratch", s.name, "the rest of the file system is left to others"))
		return false, nil
	}
	if len(dst) == 0 {
		if done, err := s.takeOver(ctx, from, r); done || err != nil {
			return done, err
		}
	}
	b := s.shelf.buffer(r)
	owned := false
	defer func() {
		if !owned {
			s.shelf.giveBack(b)
		}
	}()
	generation, keep, err := s.fetch(ctx, from, r, b)
	if err != nil {
		// What is wrong may be wrong with others of the run.
		if len(dst) > 0 {
			err = storage.Ended(ctx, r.key.name)
		}
		return false, err
	}
	copy(dst, b[off:])
	if keep {
		if owned, err = s.shelf.keep(r, generation, b); err != nil {
			s.refuse(err)
		} else {
			s.kept(r)
		}
	}
	return true, nil
}

// fetch fills b with the pixels of a run: what another scratch has of it from
// there, the rest from the source. keep says whether they may be kept, as
// those of a generation.
func (s *ImageScratch) fetch(ctx context.Context, from *sources, r run, b []byte) (generation uint32, keep bool, err error) {
	if len(s.donors) > 0 {
		if generation, ok := s.adopt(ctx, r, b); ok {
			return generation, true, nil
		}
	}
	size := r.key.imageBytes()
	err = from.use(ctx, r.key.name, func(src *source) (err error) {
		if generation, keep, err = s.prepare(ctx, from, r, src); err != nil {
			return err
		}
		at := int64(0)
		for _, p := range r.stretches(0, r.count) {
			part := b[at:][:p.count*size]
			s.count.sourceReads.Add(1)
			s.count.sourceBytes.Add(int64(len(part)))
			if err := src.ReadImages(ctx, part, p.index); err != nil {
				return err
			}
			at += int64(len(part))
		}
		return nil
	})
	return generation, keep && err == nil, err
}

// prepare makes an open source ready for taking in a run of it.
func (s *ImageScratch) prepare(ctx context.Context, from *sources, r run, src *source) (generation uint32, keep bool, err error) {
	if err := src.sameKind(r.key.is); err != nil {
		_, _, agreed := agree(s.shelf, s.count, r.key, src)
		return 0, false, errors.Join(err, notLocked(agreed))
	}
	if err := from.settle(ctx, src); err != nil {
		return 0, false, err
	}
	generation, fits, err := agree(s.shelf, s.count, r.key, src)
	if errors.Is(err, fault.ErrLocked) {
		return 0, false, nil
	}
	if err != nil {
		s.refuse(err)
		return 0, false, nil
	}
	s.checked[r.key.place].Store(from.now().UnixNano())
	return generation, fits && src.settled, nil
}

func notLocked(err error) error {
	if errors.Is(err, fault.ErrLocked) {
		return nil
	}
	return err
}

// takeOver takes in a run that lies in one piece in its source, without its
// bytes passing through this program where the host can move them. done is
// false if it has to be read.
func (s *ImageScratch) takeOver(ctx context.Context, from *sources, r run) (done bool, err error) {
	pieces := r.stretches(0, r.count)
	if len(pieces) != 1 || len(s.donors) > 0 {
		return false, nil
	}
	var refused error
	err = from.use(ctx, r.key.name, func(src *source) error {
		done, refused = false, nil
		if src.file == nil {
			return nil
		}
		generation, keep, err := s.prepare(ctx, from, r, src)
		if err != nil || !keep {
			return err
		}
		span, raw := src.file.Span(pieces[0].index, pieces[0].count)
		if !raw || span.Len != r.bytes {
			return nil
		}
		var short bool
		if short, refused = s.shelf.keepFrom(r, generation, src.file.File(), span.Off, src.still); refused == nil && !short {
			s.count.sourceReads.Add(1)
			s.count.sourceBytes.Add(r.bytes)
			done = true
		}
		return nil
	})
	switch {
	case err != nil:
		return false, err
	case done:
		s.kept(r)
	case refused != nil && fault.CodeOf(refused) == fault.CodeNoSpace:
		s.refuse(refused)
		return true, nil
	}
	return done, nil // other failures show again, and whose they are, when it is read
}

// piece is images of a source that follow each other.
type piece struct{ index, count int64 }

// stretches returns the images from the i-th on of a run, n of them, as pieces
// of its source.
func (r run) stretches(i, n int64) (pieces []piece) {
	if r.key.indices == nil {
		return []piece{{r.pos + i, n}}
	}
	for pos := r.pos + i; pos < r.pos+i+n; pos++ {
		index := r.key.index(pos)
		if last := len(pieces) - 1; last >= 0 && pieces[last].index+pieces[last].count == index {
			pieces[last].count++
			continue
		}
		pieces = append(pieces, piece{index, 1})
	}
	return pieces
}

// kept counts a run that was taken in.
func (s *ImageScratch) kept(r run) {
	s.count.filled.Add(1)
	s.count.filledBytes.Add(r.bytes)
	s.touch()
}

// refuse notes that a run could not be kept. Nobody is told but Stats and
// prefetch: images are read all the same.
func (s *ImageScratch) refuse(err error) {
	if errors.Is(err, fault.ErrNoSpace) {
		s.count.noSpace.Add(1)
	} else {
		s.count.unreadable.Add(1)
	}
	s.space.pause(s.sources.now(), err)
}
