package scratch

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

const readWrite = storage.OpenRead | storage.OpenWrite

// openFilled opens the scratch of the locations that others fill.
func (b *builder) openFilled(ctx context.Context, fs storage.FS, name string) (*ImageScratch, error) {
	f, err := openScratch(ctx, fs, name, b.o)
	if err != nil {
		return nil, err
	}
	if f.header == nil || !f.sameSet(b.locations, b.runLength) {
		return nil, errors.Join(fault.New(fault.ErrNotFound, "scratch", name, "it is none of these locations"), f.close())
	}
	shelf := newFile(f.header, f.f, name, f.unlock, b.o, b.count)
	if _, err := b.revalidate(ctx, shelf); err != nil {
		return nil, errors.Join(err, shelf.close())
	}
	return b.scratch(fs, name, shelf, Everything, nil), nil
}

// opened is a file that may be a scratch.
type opened struct {
	*header // nil: it is none that can be gone on with
	ours    bool
	size    int64
	name    string
	f       storage.File
	unlock  func() error // of lockInUse, held shared
}

func (f *opened) close() error {
	var err error
	if f.unlock != nil {
		err = f.unlock()
	}
	return errors.Join(err, f.f.Close())
}

// openScratch opens a file for use: it is not removed or cut by others until
// it is closed. A file that is no scratch is opened as well.
func openScratch(ctx context.Context, fs storage.FS, name string, o Options) (*opened, error) {
	flags := readWrite
	if o.ReadOnly {
		flags = storage.OpenRead
	}
	for range 8 {
		f, err := fs.Open(ctx, name, flags)
		if err != nil {
			return nil, err
		}
		opened, err := use(ctx, f, name, o)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		// Until we had the lock, it may have been removed or replaced.
		err = stillNamed(ctx, fs, name, f)
		if err == nil {
			return opened, nil
		}
		if err := errors.Join(ignore(err, fault.ErrExists), opened.close()); err != nil {
			return nil, err
		}
	}
	return nil, fault.New(fault.ErrLocked, "scratch", name, "others replace it all the time")
}

// stillNamed returns ErrExists unless a name leads to an open file.
func stillNamed(ctx context.Context, fs storage.FS, name string, f storage.File) error {
	here, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := fs.Stat(ctx, name)
	if errors.Is(err, fault.ErrNotFound) || err == nil && (there.Ino != here.Ino || there.Dev != here.Dev) {
		return fault.New(fault.ErrExists, "scratch", name, "the name leads to another file by now")
	}
	return err
}

// use takes the lock of who uses a file, and reads its header.
func use(ctx context.Context, f storage.File, name string, o Options) (*opened, error) {
	if !isOurs(f) {
		info, err := f.Stat()
		return &opened{name: name, f: f, size: info.Size}, err
	}
	unlock, err := lock(ctx, f, lockInUse, storage.LockShared, o.Clock)
	if o.ReadOnly && err != nil && storage.Ended(ctx, name) == nil {
		// Who has no locks may find the file removed, but never cut where its
		// words say that something is.
		unlock, err = func() error { return nil }, nil
	}
	if err != nil {
		return nil, err
	}
	h, err := readHeader(f, name)
	if err != nil {
		if k := fault.CodeOf(err); k != fault.CodeCorrupt && k != fault.CodeUnsupported {
			return nil, errors.Join(err, unlock())
		}
		return &opened{name: name, ours: true, f: f, unlock: unlock, size: page}, nil
	}
	info, err := f.Stat()
	if err == nil && info.Size < h.size() && !o.ReadOnly {
		// It was cut. What is missing reads as zeros, which no checksum takes
		// for pixels.
		err = f.Truncate(h.size())
	}
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	return &opened{header: h, name: name, ours: true, f: f, unlock: unlock, size: h.size()}, nil
}

// donor makes a file one that is copied from.
func (f *opened) donor(o Options) *donor {
	return &donor{fileShelf: newFile(f.header, f.f, f.name, f.unlock, o, new(counters))}
}

// patience is how often a lock is tried, 5 ms apart: a minute. Whoever holds
// one that is waited for looks at files meanwhile, and ends.
const patience = 12000

// lock takes the byte at off, and waits for it if there is a clock.
func lock(ctx context.Context, f storage.File, off int64, m storage.LockMode, clock storage.Clock) (func() error, error) {
	for try := 0; ; try++ {
		unlock, err := f.LockRange(off, m)
		if err == nil || !errors.Is(err, fault.ErrLocked) || clock == nil || try == patience {
			return unlock, err
		}
		if clock.Sleep(ctx, min(time.Millisecond<<min(try, 4), 5*time.Millisecond)) != nil {
			return nil, storage.Ended(ctx, "")
		}
	}
}

// createFile makes a scratch file with nothing in it, in use by the caller.
// It gets its name only when it is whole; ErrExists if there is one by then,
// unless it is to be replaced.
func createFile(ctx context.Context, fs storage.FS, name string, h *header, stamps []stamp, quota int64, replace bool, o Options) (_ storage.File, _ func() error, err error) {
	temporary, f, unlock, err := createTemporary(ctx, fs, name)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			// Whoever asked may be gone; the file must not stay.
			err = errors.Join(err, f.Close(), ignore(fs.Remove(context.WithoutCancel(ctx), temporary), fault.ErrNotFound))
		}
	}()
	b := h.encode(stamps)
	// From the beginning, because that is synced: what marks it later need not
	// be there after a loss of power, when pixels are.
	binary.LittleEndian.PutUint64(b[atBoot:], bootNumber(o.Boot))
	if _, err = f.WriteAt(b, 0); err != nil {
		return nil, nil, err
	}
	crash("header written")
	if err = f.Truncate(h.size()); err != nil {
		return nil, nil, err
	}
	if o.Reserve {
		if err = ignore(f.Allocate(h.dataAt(0), min(quota, h.bytes)), fault.ErrUnsupported); err != nil {
			return nil, nil, err
		}
	}
	if err = f.Sync(); err != nil {
		return nil, nil, err
	}
	crash("synced")
	if replace {
		err = fs.Rename(ctx, temporary, name)
	} else {
		err = fs.RenameNoReplace(ctx, temporary, name)
	}
	if err != nil {
		return nil, nil, err
	}
	crash("named")
	if err := ignore(fs.SyncDir(ctx, parent(name)), fault.ErrUnsupported); err != nil {
		return nil, nil, errors.Join(err, f.Close()) // it is there, and whole
	}
	return f, unlock, nil
}

// createTemporary makes an empty file beside name, in use by the caller.
func createTemporary(ctx context.Context, fs storage.FS, name string) (temporary string, f storage.File, unlock func() error, err error) {
	for range 8 {
		temporary = temporaryName(name)
		if f, err = fs.Open(ctx, temporary, readWrite|storage.OpenCreate|storage.OpenExclusive); err != nil {
			return "", nil, nil, err
		}
		crash("made")
		if unlock, err = f.LockRange(lockInUse, storage.LockShared); err == nil {
			// Until we had the lock, it looked like one that was left behind.
			if _, err = fs.Stat(ctx, temporary); err == nil {
				return temporary, f, unlock, nil
			}
		}
		err = errors.Join(err, f.Close())
		if !errors.Is(err, fault.ErrLocked) && !errors.Is(err, fault.ErrNotFound) {
			return "", nil, nil, errors.Join(err, ignore(fs.Remove(context.WithoutCancel(ctx), temporary), fault.ErrNotFound))
		}
	}
	return "", nil, nil, err
}

// temporaryMark stands between the name that a file will get and a number.
const temporaryMark = ".tmp-"

func temporaryName(name string) string {
	return join(parent(name), "."+base(name)+temporaryMark+hexOf(rand.Uint64()))
}

func hexOf(n uint64) string {
	s := strconv.FormatUint(n, 16)
	return strings.Repeat("0", 16-len(s)) + s
}

// isTemporary reports whether a base name is one of temporaryName's, for a
// name that ends in suffix.
func isTemporary(base, suffix string) bool {
	if len(base) < 17 || base[0] != '.' {
		return false
	}
	number := base[len(base)-16:]
	for i := range len(number) {
		if c := number[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return strings.HasSuffix(base[1:len(base)-16], suffix+temporaryMark)
}

// sweep removes what creators left that are no more: the unfinished files of
// names that end in suffix.
func sweep(ctx context.Context, fs storage.FS, dir, suffix string) (removed []string, err error) {
	names, err := fs.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, base := range names {
		if !isTemporary(base, suffix) {
			continue
		}
		name := join(dir, base)
		if gone, err := removeUnused(ctx, fs, name, true); err != nil {
			return removed, err
		} else if gone {
			removed = append(removed, name)
		}
	}
	return removed, nil
}

// removeUnused removes a scratch that nobody uses; unfinished, one that may
// have no header yet. It is not an error that it is in use, gone, or nothing
// of ours.
func removeUnused(ctx context.Context, fs storage.FS, name string, unfinished bool) (removed bool, err error) {
	f, err := fs.Open(ctx, name, readWrite)
	if err != nil {
		return false, storage.Ended(ctx, name)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if !isOurs(f) {
		if blank, err := isBlank(f); !unfinished || err != nil || !blank {
			return false, err
		}
	}
	unlock, err := f.LockRange(lockInUse, storage.LockExclusive)
	if err != nil {
		return false, ignore(err, fault.ErrLocked)
	}
	defer unlock()
	// The name may lead to another file by now, which is not ours to remove.
	if err := stillNamed(ctx, fs, name, f); err != nil {
		return false, ignore(err, fault.ErrExists)
	}
	if err := fs.Remove(ctx, name); err != nil {
		return false, ignore(err, fault.ErrNotFound)
	}
	crash("removed")
	return true, nil
}

// isBlank reports whether the beginning of a file was never written, or not all
// of it: a kill, or a full disk, may leave a part, and a loss of power any
// sectors of a file that is as long as it was to be.
func isBlank(f storage.File) (bool, error) {
	b := make([]byte, 512)
	n, err := f.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	return strings.HasPrefix(magic, string(b[:n])) || !slices.ContainsFunc(b[:n], func(c byte) bool { return c != 0 }), nil
}

// ignore returns err unless it is of a kind.
func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

func newSalt() uint64 { return rand.Uint64() }

func parent(name string) string { return name[:max(strings.LastIndexByte(name, '/'), 0)] }

func base(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

func join(dir, base string) string {
	if dir == "" {
		return base
	}
	return dir + "/" + base
}
