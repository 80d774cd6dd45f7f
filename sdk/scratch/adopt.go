package scratch

import (
	"context"
	"errors"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
)

// donor is another scratch file that holds some of the same images. It is
// read, and in use, as long as the scratch that it gives to.
type donor struct {
	*fileShelf
	gone bool // it was removed, to make room
}

// describe returns what a file was when the donor's copy of it was laid out,
// if that is of the state that is says.
func (d *donor) describe(name string, is stamp) (image.Description, bool) {
	k := d.find(name)
	if k == nil {
		return image.Description{}, false
	}
	theirs, _, err := d.stampOf(k)
	if err != nil || theirs.misfit || !theirs.same(is) {
		return image.Description{}, false
	}
	return k.is, true
}

// give fills dst with one image, if it is there for that state of its file.
func (d *donor) give(mine *key, index int64, is stamp, dst []byte) bool {
	if theirs, ok := d.describe(mine.name, is); !ok || !mine.fits(theirs) {
		return false
	}
	k := d.find(mine.name)
	pos, ok := k.find(index)
	if !ok {
		return false
	}
	r := k.runAt(pos)
	ok, err := d.load(r, dst, (pos-r.pos)*k.imageBytes())
	return ok && err == nil
}

// adopt fills b with the pixels of a run from other scratches, if they have
// all of it in the state in which its file is now. The file itself is looked
// at only, and need not be there any more.
func (s *ImageScratch) adopt(ctx context.Context, r run, b []byte) (generation uint32, ok bool) {
	mine, generation, err := s.shelf.stampOf(r.key)
	if err != nil || mine.misfit || mine.same(stamp{}) {
		return 0, false
	}
	now, known, err := s.sources.look(ctx, r.key.name)
	switch {
	case errors.Is(err, fault.ErrNotFound): // it stays what it was
	case err != nil, !known, !now.same(mine):
		return 0, false
	}
	size := r.key.imageBytes()
	for i := range r.count {
		given := false
		for _, d := range s.donors {
			if given = d.give(r.key, r.key.index(r.pos+i), mine, b[i*size:][:size]); given {
				break
			}
		}
		if !given {
			return 0, false
		}
	}
	s.count.adopted.Add(1)
	return generation, true
}

func closeAll(donors []*donor) (err error) {
	for _, d := range donors {
		err = errors.Join(err, d.close())
	}
	return err
}
