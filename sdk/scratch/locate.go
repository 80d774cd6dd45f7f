package scratch

import (
	"context"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Place is where an image lies in the file of a scratch, for who moves the
// bytes himself. The pixels are the image's if both words, 8 bytes each at
// those offsets, little endian, still are what they are here after the pixels
// were copied. A word that has changed says nothing bad about the scratch: the
// image is to be read through it, or looked for anew.
type Place struct {
	Off, Len         int64
	RunAt, KeyAt     int64
	RunWord, KeyWord uint64
}

// Locate returns where an image lies in the scratch's file. ok is false for one
// that is not there now, that is not held, or of a scratch in memory: ReadImages
// reads it. Checksums were looked at, as Options.Verify says, when it returns.
//
// Errors: ErrInvalid for a name that the scratch does not know; ErrCancelled,
// unless it needs no look at the file; ErrClosed.
func (s *ImageScratch) Locate(ctx context.Context, name string, index int64) (at Place, ok bool, err error) {
	if s.closed.Load() {
		return at, false, fault.New(fault.ErrClosed, "scratch", s.name, "")
	}
	k := s.layout.find(name)
	if k == nil {
		return at, false, fault.New(fault.ErrInvalid, "scratch", name, "not a file of this scratch")
	}
	shelf, ok := s.shelf.(*fileShelf)
	pos, held := k.find(index)
	if !ok || !held || k.runAt(pos).end() > s.quota {
		return at, false, nil
	}
	if err := s.retain(); err != nil {
		return at, false, err
	}
	defer s.release()
	if s.o.Revalidate > 0 {
		if err := s.revalidate(ctx, k); err != nil {
			return at, false, err
		}
	}
	r, size := k.runAt(pos), k.imageBytes()
	at, ok, err = shelf.locate(ctx, r)
	if err != nil {
		if ended := storage.Ended(ctx, name); ended != nil {
			return at, false, ended
		}
		s.count.unreadable.Add(1)
		return at, false, nil
	}
	if ok {
		s.count.hits.Add(1)
		s.count.hitBytes.Add(size)
	}
	at.Off, at.Len = at.Off+(pos-r.pos)*size, size
	return at, ok, nil
}

// locate returns where a run lies that is there, once its checksum was looked
// at. Of one that was seen before the words of then do: whoever copies it looks
// whether they stand.
// The context is asked only where there is something to wait for: in a guest
// that is a call of the host.
func (s *fileShelf) locate(ctx context.Context, r run) (at Place, ok bool, err error) {
	place := func(key, run uint64) Place {
		return Place{Off: s.dataAt(r.off), KeyAt: s.stampAt(r.key.place), RunAt: s.wordAt(r.n), KeyWord: key, RunWord: run}
	}
	for range 3 {
		known, w := s.known[r.key.place].Load(), s.verified[r.n].Load()
		if w != 0 && known != nil && s.o.Verify != VerifyAlways && s.holds(r, known, word(w)) {
			return place(uint64(known.word), w), true, nil
		}
		if err := storage.Ended(ctx, s.name); err != nil {
			return at, false, err
		}
		before, _, err := s.between(nil, r, 0)
		if err != nil {
			return at, false, err
		}
		known, err = s.stampUnder(r.key, stampWord(before[0]))
		if err != nil || !s.holds(r, known, word(before[1])) {
			return at, false, err
		}
		b := s.buffer(r)
		ok, err := s.loadFirst(r, b, 0)
		s.giveBack(b)
		if err != nil || !ok || s.o.Verify == VerifyAlways {
			return at, false, err // what is checked at every read cannot be read without it
		}
	}
	return at, false, nil
}
