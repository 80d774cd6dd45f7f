package scratch

import (
	"context"
	"errors"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

const (
	suffix   = ".gridhold-scratch"
	lockName = ".gridhold-scratch.lock" // its first byte is locked by who changes the directory
)

// mostDonors is from how many other scratches of a directory images are
// copied: those that were used last.
const mostDonors = 4

// CreateDirectoryImageScratch makes a scratch in a directory that scratches
// share, or goes on with the one of these locations and run length that is
// there. It is CreateMappedFileImageScratch otherwise. The directory is made
// where there is none.
//
// All scratches of the directory take at most budget bytes together, as far
// as those go that are in use: they are neither removed nor cut. Of the
// others, those that were used longest ago are removed. A scratch that finds
// less room than budget, because others are in use, holds less, or nothing,
// and reads the rest from the files. Only files count, and are removed, whose
// names end in ".gridhold-scratch" and that are scratches.
//
// What other scratches of the directory hold of the same images, of the same
// state of their files, is copied from there.
func CreateDirectoryImageScratch(ctx context.Context, locations *image.ImageLocationGrouping, fs storage.FS, directory string, runLength, budget int64, files image.ReaderProvider, o Options) (*ImageScratch, error) {
	b, err := newBuilder(locations, runLength, files, o)
	if err != nil {
		return nil, err
	}
	s, err := b.directory(ctx, fs, directory, budget)
	if err != nil {
		return nil, errors.Join(err, b.sources.close())
	}
	return s, nil
}

func (b *builder) directory(ctx context.Context, fs storage.FS, dir string, budget int64) (*ImageScratch, error) {
	if b.o.ReadOnly {
		return b.openFilled(ctx, fs, join(dir, b.fileName()))
	}
	if budget <= 0 {
		return nil, fault.New(fault.ErrInvalid, "scratch", dir, "there is nothing to hold: the budget is "+strconv.FormatInt(budget, 10)+" bytes")
	}
	if err := makeDirectory(ctx, fs, dir); err != nil {
		return nil, err
	}
	if err := b.checkFS(ctx, fs, dir); err != nil {
		return nil, err
	}
	unlock, err := lockDirectory(ctx, fs, dir, b.o.Clock)
	if err != nil {
		return nil, err
	}
	s, err := b.directoryLocked(ctx, fs, dir, budget)
	if e := unlock(); e != nil && err == nil {
		return nil, errors.Join(e, s.Close())
	}
	return s, err
}

// directoryLocked works out what is there, what has to go and what room is
// left, while nobody else does.
func (b *builder) directoryLocked(ctx context.Context, fs storage.FS, dir string, budget int64) (*ImageScratch, error) {
	if _, err := sweep(ctx, fs, dir, suffix); err != nil {
		return nil, err
	}
	name := join(dir, b.fileName())
	d, err := survey(ctx, fs, dir, name)
	if err != nil {
		return nil, err
	}

	var shelf *fileShelf
	var donors []*donor
	replace := false
	old, err := openScratch(ctx, fs, name, b.o)
	switch {
	case errors.Is(err, fault.ErrNotFound):
	case err != nil:
		return nil, err
	case old.header != nil && old.sameSet(b.locations, b.runLength):
		shelf = newFile(old.header, old.f, name, old.unlock, b.o, b.count)
		remake, err := b.revalidate(ctx, shelf)
		if err != nil {
			return nil, errors.Join(err, shelf.close())
		}
		if remake {
			donors, shelf, replace = []*donor{{fileShelf: shelf}}, nil, true
		}
	case !old.ours && old.size > 0:
		return nil, errors.Join(fault.New(fault.ErrExists, "scratch", name, "it is not a scratch, and left alone"), old.close())
	default: // damaged, of another layout, or of another set with the same fingerprint
		if err := old.close(); err != nil {
			return nil, err
		}
		replace = true
	}
	if shelf != nil {
		// A budget in which nothing fits takes nothing from anybody.
		quota, err := int64(0), roomFor(shelf.layout, budget-shelf.overhead(), dir)
		if err == nil {
			quota, err = d.room(ctx, fs, budget, shelf.header)
			quota = max(quota, 0)
		}
		if err == nil {
			err = b.cut(ctx, shelf, quota)
		}
		if err != nil {
			return nil, errors.Join(err, shelf.close())
		}
		return b.scratch(fs, name, shelf, quota, nil), nil
	}
	donors = append(donors, d.donors(ctx, fs, b.locations, b.o)...)
	s, err := b.make(ctx, fs, name, donors, replace, func(h *header) (int64, error) {
		if err := roomFor(h.layout, budget-h.overhead(), dir); err != nil {
			return 0, err
		}
		quota, err := d.room(ctx, fs, budget, h)
		if err == nil && quota < 0 {
			err = &hollow{h}
		}
		d.keepDonors()
		return quota, err
	})
	if none := (*hollow)(nil); errors.As(err, &none) {
		// Those in use leave no room: everything is read from the files.
		s = newScratch(none.layout, 0, b.sources, b.o, b.count)
		s.shelf = newMemory(none.layout, make([]stamp, len(none.keys)), 0)
		return s, nil
	}
	return s, err
}

// fileName is what the file of a set is called in a directory.
func (b *builder) fileName() string {
	id := fingerprint(b.locations, b.runLength)
	return hexOf(bigEndian(id[:8])) + hexOf(bigEndian(id[8:])) + suffix
}

// hollow is the error of a scratch for which there is no room now.
type hollow struct{ *header }

func (*hollow) Error() string { return "no room" }

// cut gives back what a file has beyond a quota, if nobody else uses it, and
// notes the quota: the largest of those who use the file.
func (b *builder) cut(ctx context.Context, f *fileShelf, quota int64) error {
	if err := f.unlock(); err != nil {
		return err
	}
	f.unlock = nil
	alone, err := f.f.LockRange(lockInUse, storage.LockExclusive)
	if err == nil {
		if err = f.giveUp(quota); err == nil {
			err = f.setNumber(atQuota, uint64(quota))
		}
		err = errors.Join(err, alone())
	} else if errors.Is(err, fault.ErrLocked) {
		var theirs uint64
		if theirs, err = f.number(atQuota); err == nil && int64(theirs) < quota {
			err = f.setNumber(atQuota, uint64(quota))
		}
	}
	if err != nil {
		return err
	}
	// Nobody removes it meanwhile: the directory is locked.
	f.unlock, err = lock(ctx, f.f, lockInUse, storage.LockShared, b.o.Clock)
	return err
}

// giveUp makes the runs beyond a quota absent and gives their space back. The
// caller is alone with the file.
func (s *fileShelf) giveUp(quota int64) error {
	runs, _ := s.fitting(quota)
	if runs == s.runs {
		return nil
	}
	beyond := false
	err := s.readWords(s.f, func(run int64, w word) { beyond = beyond || run >= runs && w != 0 })
	if err != nil {
		return err
	}
	if beyond {
		if _, err := s.f.WriteAt(make([]byte, 8*(s.runs-runs)), s.wordAt(runs)); err != nil {
			return err
		}
		crash("given up")
	}
	end := s.layout.number(runs).off
	// A run may have been half written when its writer was killed, so that
	// no word tells whether there is anything.
	info, err := s.f.Stat()
	if err != nil || !beyond && info.Allocated > 0 && info.Allocated <= s.overhead()+end {
		return err
	}
	if err := s.f.Truncate(s.dataAt(end)); err != nil {
		return err
	}
	crash("cut")
	return s.f.Truncate(s.size())
}

// lockDirectory keeps others from adding scratches to a directory, and from
// removing them.
func lockDirectory(ctx context.Context, fs storage.FS, dir string, clock storage.Clock) (unlock func() error, err error) {
	name := join(dir, lockName)
	f, err := fs.Open(ctx, name, readWrite|storage.OpenCreate)
	if err != nil {
		return nil, err
	}
	u, err := lock(ctx, f, 0, storage.LockExclusive, clock)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { return errors.Join(u(), f.Close()) }, nil
}

// makeDirectory makes a directory and those above it.
func makeDirectory(ctx context.Context, fs storage.FS, dir string) error {
	info, err := fs.Stat(ctx, dir)
	switch {
	case err == nil && !info.Dir:
		return fault.New(fault.ErrExists, "scratch", dir, "it is not a directory")
	case err == nil || !errors.Is(err, fault.ErrNotFound) || dir == "":
		return err
	}
	if err := makeDirectory(ctx, fs, parent(dir)); err != nil {
		return err
	}
	return ignore(fs.Mkdir(ctx, dir), fault.ErrExists)
}

func bigEndian(b []byte) (n uint64) {
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}
