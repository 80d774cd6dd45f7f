package scratch

import (
	"context"
	"errors"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// CreateMappedFileImageScratch makes a scratch in the file path of a file
// system, or goes on with the one that is there. It is CreateHostImageScratch
// otherwise; maxSize is the bytes that the file may take, all in all.
//
// Programs that use one path at the same time share the file, if they hold
// the same locations with the same run length; maxSize is each one's own. A
// scratch of other locations is replaced, and what it has of the same images
// is taken from there. Any other file is left alone: ErrExists, unless
// Options.Overwrite is given, which spares the files that the images are in:
// ErrInvalid. An empty file counts as none.
//
// With a scratch that is there, files are looked at and not opened; those
// that are gone are not needed for what is held. Errors besides those of
// CreateHostImageScratch: ErrNoSpace; ErrUnsupported on a network file system
// and where files have no locks; ErrLocked where another process replaces the
// file right now and there is no Options.Clock to wait by.
func CreateMappedFileImageScratch(ctx context.Context, locations *image.ImageLocationGrouping, fs storage.FS, path string, runLength, maxSize int64, files image.ReaderProvider, o Options) (*ImageScratch, error) {
	b, err := newBuilder(locations, runLength, files, o)
	if err != nil {
		return nil, err
	}
	s, err := b.mapped(ctx, fs, path, maxSize)
	if err != nil {
		return nil, errors.Join(err, b.sources.close())
	}
	return s, nil
}

func (b *builder) mapped(ctx context.Context, fs storage.FS, path string, maxSize int64) (*ImageScratch, error) {
	if b.o.ReadOnly {
		return b.openFilled(ctx, fs, path)
	}
	if err := b.checkFS(ctx, fs, parent(path)); err != nil {
		return nil, err
	}
	vain := false // there was nothing, and yet the name was taken
	for range 8 {
		old, err := openScratch(ctx, fs, path, b.o)
		if err != nil && !errors.Is(err, fault.ErrNotFound) {
			return nil, err
		}
		var donors []*donor
		switch {
		case old == nil:
		case old.header != nil && old.sameSet(b.locations, b.runLength):
			if err := roomFor(old.layout, maxSize-old.overhead(), path); err != nil {
				return nil, errors.Join(err, old.close())
			}
			shelf := newFile(old.header, old.f, path, old.unlock, b.o, b.count)
			remake, err := b.revalidate(ctx, shelf)
			switch {
			case err != nil:
				return nil, errors.Join(err, shelf.close())
			case !remake:
				return b.scratch(fs, path, shelf, maxSize-old.overhead(), nil), nil
			}
			donors = []*donor{{fileShelf: shelf}}
		case old.header != nil:
			donors = []*donor{old.donor(b.o)}
		case !old.ours && old.size > 0 && !b.o.Overwrite:
			return nil, errors.Join(fault.New(fault.ErrExists, "scratch", path, "it is not a scratch, and left alone"), old.close())
		case !old.ours:
			if err := b.spareSources(ctx, old); err != nil {
				return nil, errors.Join(err, old.close())
			}
		}
		s, err := b.replace(ctx, fs, path, old, donors, maxSize)
		if !errors.Is(err, fault.ErrExists) {
			return s, err
		}
		// Another process made it, or replaced it, first.
		vain = old == nil
	}
	if vain {
		return nil, fault.New(fault.ErrExists, "scratch", path, "the name is taken by what cannot be opened, as a link that leads nowhere is")
	}
	return nil, fault.New(fault.ErrLocked, "scratch", path, "others replace it all the time")
}

// spareSources returns ErrInvalid if a file is one of those whose images the
// scratch is to hold, under whatever name.
func (b *builder) spareSources(ctx context.Context, f *opened) error {
	here, err := f.f.Stat()
	if err != nil {
		return err
	}
	return each(ctx, b.locations.Len(), b.o.parallel(), func(i int) error {
		name := b.locations.Group(i).Key
		source, known, err := b.sources.look(ctx, name)
		if !known || err != nil {
			return storage.Ended(ctx, name)
		}
		if source.ino == here.Ino && source.dev == here.Dev && here.Ino != 0 {
			return fault.New(fault.ErrInvalid, "scratch", f.name, "it holds images that the scratch is of")
		}
		return nil
	})
}

// replace makes a scratch in the place of old, if there is a file. ErrExists if
// that is not the file of the name any more. Of the donors, old is one, or it
// is closed.
func (b *builder) replace(ctx context.Context, fs storage.FS, path string, old *opened, donors []*donor, maxSize int64) (s *ImageScratch, err error) {
	if old != nil {
		if len(donors) == 0 {
			defer func() { err = errors.Join(err, old.close()) }()
		}
		// Of several who want to replace it by the same scratch, one does, and
		// the others share that.
		unlock, err := lock(ctx, old.f, lockReplace, storage.LockExclusive, b.o.Clock)
		if err == nil {
			defer unlock()
			err = stillNamed(ctx, fs, path, old.f)
		}
		if err != nil {
			return nil, errors.Join(err, closeAll(donors))
		}
	}
	if _, err := sweep(ctx, fs, parent(path), base(path)); err != nil {
		return nil, errors.Join(err, closeAll(donors))
	}
	return b.make(ctx, fs, path, donors, old != nil, func(h *header) (int64, error) {
		quota := maxSize - h.overhead()
		return quota, roomFor(h.layout, quota, path)
	})
}
