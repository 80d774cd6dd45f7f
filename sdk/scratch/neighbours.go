package scratch

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// neighbour is another scratch of a directory.
type neighbour struct {
	*header // nil: it is damaged
	name    string
	takes   int64  // bytes that it may grow to while it is in use, else those it takes
	used    int64  // when it was last, ns since 1970
	inUse   bool   // or not ours to remove
	donor   *donor // nil: it is none
}

// neighbours are all others of a directory, those first that were used longest
// ago.
type neighbours []*neighbour

// survey looks at all scratches of a directory but one.
func survey(ctx context.Context, fs storage.FS, dir, except string) (d neighbours, err error) {
	names, err := fs.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, base := range names {
		name := join(dir, base)
		if !strings.HasSuffix(base, suffix) || name == except {
			continue
		}
		f, err := fs.Open(ctx, name, readWrite)
		theirs := err != nil
		if theirs {
			// Of another user, perhaps. It counts, and cannot be removed.
			f, err = fs.Open(ctx, name, storage.OpenRead)
		}
		if err != nil {
			if err := storage.Ended(ctx, name); err != nil {
				return nil, err
			}
			if _, gone := fs.Stat(ctx, name); gone == nil && errors.Is(err, fault.ErrIO) {
				return nil, err // it counts, and we cannot say how much: too many files are open, perhaps
			}
			continue // it is gone by now, or nothing that could be ours
		}
		if isOurs(f) {
			n := &neighbour{name: name, inUse: theirs}
			err = n.look(f)
			d = append(d, n)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(d, func(a, b *neighbour) int { return cmp.Compare(a.used, b.used) })
	return d, nil
}

// look finds out what a scratch takes and whether it is in use.
func (n *neighbour) look(f storage.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if n.takes = info.Allocated; n.takes == 0 {
		n.takes = info.Size
	}
	if !n.inUse {
		alone, err := f.LockRange(lockInUse, storage.LockExclusive)
		n.inUse = errors.Is(err, fault.ErrLocked)
		switch {
		case err == nil:
			err = alone()
		case n.inUse:
			err = nil
		}
		if err != nil {
			return err
		}
	}
	if n.header, err = readHeader(f, n.name); err != nil {
		n.header = nil
		return nil
	}
	s := fileShelf{header: n.header, f: f}
	used, _ := s.number(atUsed) // what cannot be read goes first
	n.used = int64(used)
	if quota, err := s.number(atQuota); n.inUse && err == nil {
		n.takes = max(n.takes, n.overhead()+min(int64(quota), n.bytes))
	}
	return nil
}

// shares reports whether a neighbour holds any of some files.
func (n *neighbour) shares(locations *image.ImageLocationGrouping) bool {
	return n.header != nil && slices.ContainsFunc(n.keys, func(k *key) bool {
		_, ok := locations.Find(k.name)
		return ok
	})
}

// donors returns those to copy from, each opened once more. They are not in use
// before keepDonors; of all neighbours, they are the last to be removed.
func (d neighbours) donors(ctx context.Context, fs storage.FS, locations *image.ImageLocationGrouping, o Options) (donors []*donor) {
	for _, n := range slices.Backward(d) {
		if len(donors) == mostDonors {
			break
		}
		if !n.shares(locations) {
			continue
		}
		f, err := fs.Open(ctx, n.name, readWrite)
		if err != nil {
			continue // then its images come from their files
		}
		n.donor = &donor{fileShelf: newFile(n.header, f, n.name, nil, o, new(counters))}
		donors = append(donors, n.donor)
	}
	return donors
}

// keepDonors takes the donors that are left into use.
func (d neighbours) keepDonors() {
	for _, n := range d {
		if n.donor == nil || n.donor.gone {
			continue
		}
		unlock, err := n.donor.f.LockRange(lockInUse, storage.LockShared)
		n.donor.unlock, n.donor.gone = unlock, err != nil
	}
}

// room removes who is not in use, as long as there is no room for all of h
// within the budget, and returns how many bytes of pixels h may hold: below 0
// if not even its header may be there.
func (d neighbours) room(ctx context.Context, fs storage.FS, budget int64, h *header) (int64, error) {
	taken := int64(0)
	for _, n := range d {
		taken += n.takes
	}
	for _, donating := range []bool{false, true} {
		for _, n := range d {
			if taken <= budget-h.full() {
				break
			}
			if n.inUse || n.takes == 0 || (n.donor != nil) != donating {
				continue
			}
			gone, err := removeUnused(ctx, fs, n.name, false)
			if err != nil {
				return 0, err
			}
			if gone {
				taken -= n.takes
				n.takes = 0
				if n.donor != nil {
					n.donor.gone = true
				}
			}
		}
	}
	return min(budget-taken-h.overhead(), h.bytes), nil
}
