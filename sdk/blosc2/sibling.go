package blosc2

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// What takes the place of a file or directory is made beside it, in a sibling:
// NAME.gridhold-N.tmp, or NAME.gridhold-N.new.tmp, for which the former stands.
// Whoever makes one keeps a lock on the former for as long as it is his, which the system
// frees when he is killed. So a sibling whose lock can be had is nobody's any
// more, and is removed by whoever next opens NAME for writing or makes another.
// Where there are no such locks siblings have names that nobody removes.

const (
	siblingMark = ".gridhold-"
	siblingTail = ".tmp"     // which stores take for no leaf
	siblingNew  = ".new.tmp" // of the file or directory that a sibling stands for
	siblingLock = 1 << 60    // the byte that is locked, which no file has
	siblingGap  = 4          // numbers that are free before one that is looked for
	mostSibling = 1000
)

// sibling is a new file, which its maker fills and gives another name; or the
// sign that one of another name is somebody's, or a directory.
type sibling struct {
	storage.File
	fs   storage.FS
	name string
}

// newSibling makes an empty file beside name.
func newSibling(ctx context.Context, fs storage.FS, name string) (*sibling, error) {
	const flags = storage.OpenRead | storage.OpenWrite | storage.OpenCreate | storage.OpenExclusive
	for n := range mostSibling {
		s := &sibling{fs: fs, name: siblingOf(name, n)}
		var err error
		if s.File, err = fs.Open(ctx, s.name, flags); errors.Is(err, fault.ErrExists) {
			if !cleared(ctx, fs, s.name, false) {
				continue
			}
			s.File, err = fs.Open(ctx, s.name, flags)
		}
		if errors.Is(err, fault.ErrExists) {
			continue
		}
		if err != nil {
			return nil, err
		}
		_, err = s.LockRange(siblingLock, storage.LockExclusive)
		if errors.Is(err, fault.ErrLocked) || err == nil && s.lost(ctx) {
			s.Close() // somebody took it for left behind: the name may be another's by now
			continue
		}
		if err == nil && !named(ctx, fs, s.name, s.File) {
			err = fault.ErrUnsupported // nobody could tell whose it is
		}
		_, taken := fs.Stat(ctx, s.other()) // what could not be removed
		if err == nil && taken != nil {
			return s, nil
		}
		if err := s.drop(ctx); err != nil {
			return nil, err
		}
		if err != nil {
			break
		}
	}
	s := &sibling{fs: fs, name: name + "." + strconv.FormatUint(rand.Uint64(), 36) + siblingTail}
	var err error
	s.File, err = fs.Open(ctx, s.name, flags)
	return s, err
}

func siblingOf(name string, n int) string {
	return name + siblingMark + strconv.Itoa(n) + siblingTail
}

// isSibling reports whether a file has a name of those that may be removed.
func isSibling(name string) bool {
	name, ok := strings.CutSuffix(name, siblingTail)
	i := strings.LastIndex(name, siblingMark)
	if !ok || i < 0 {
		return false
	}
	n, err := strconv.Atoi(name[i+len(siblingMark):])
	return err == nil && n >= 0
}

// lost reports whether the name leads to another file than the sibling, or to
// none.
func (s *sibling) lost(ctx context.Context) bool {
	open, err := s.Stat()
	return err == nil && open.Ino != 0 && !named(ctx, s.fs, s.name, s.File)
}

// other is the name of the file or directory that the sibling stands for,
// which there need not be.
func (s *sibling) other() string { return strings.TrimSuffix(s.name, siblingTail) + siblingNew }

// take gives the file another name, and ends the sibling whether that goes well
// or not.
func (s *sibling) take(ctx context.Context, to string, exclusive bool) error {
	rename := s.fs.Rename
	if exclusive {
		rename = s.fs.RenameNoReplace
	}
	if err := rename(ctx, s.name, to); err != nil {
		return errors.Join(err, s.drop(ctx))
	}
	return s.Close() // the lock with it: only now, when nobody looks for the name
}

// drop removes the file, and not what it stands for.
func (s *sibling) drop(ctx context.Context) error {
	return errors.Join(s.fs.Remove(context.WithoutCancel(ctx), s.name), s.Close())
}

// sweep removes the siblings of name whose makers are gone. That is care, not
// need: what cannot be removed stays. Of what is there name must be whole: a
// directory beside it may be all that is left of another one.
func sweep(ctx context.Context, fs storage.FS, name string) {
	for sibling := range siblings(ctx, fs, name) {
		cleared(ctx, fs, sibling, true)
	}
}

// siblings yields those that there are of name.
func siblings(ctx context.Context, fs storage.FS, name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for n, free := 0, 0; free < siblingGap && n < mostSibling; n++ {
			free++
			if _, err := fs.Stat(ctx, siblingOf(name, n)); err == nil {
				free = 0
				if !yield(siblingOf(name, n)) {
					return
				}
			}
		}
	}
}

// cleared removes a sibling if its maker is gone, with what it stands for; false:
// it did not, because of the maker, or of a directory that dirs does not allow
// to be removed or that somebody put files of his own in.
func cleared(ctx context.Context, fs storage.FS, name string, dirs bool) bool {
	f, ok := abandoned(ctx, fs, name)
	if !ok {
		return false
	}
	defer f.Close()
	other := (&sibling{name: name}).other()
	info, err := fs.Stat(ctx, other)
	switch {
	case errors.Is(err, fault.ErrNotFound):
	case err != nil:
		return false
	case !info.Dir:
		if fs.Remove(ctx, other) != nil {
			return false
		}
	case !dirs || !onlyOurs(ctx, fs, other) || removeTree(ctx, fs, other) != nil:
		return false
	}
	return fs.Remove(ctx, name) == nil
}

// abandoned opens a sibling whose maker is gone, and has its lock; false: he is
// not, or nobody can tell.
func abandoned(ctx context.Context, fs storage.FS, name string) (storage.File, bool) {
	f, err := fs.Open(ctx, name, storage.OpenRead|storage.OpenWrite)
	if err != nil {
		return nil, false
	}
	info, err := fs.StatFS(ctx, name)
	if err == nil && !info.Network && info.Kind != "" { // or its locks may not hold between machines
		if _, err = f.LockRange(siblingLock, storage.LockExclusive); err == nil && named(ctx, fs, name, f) {
			return f, true
		}
	}
	f.Close()
	return nil, false
}

// named reports whether a name leads to an open file.
func named(ctx context.Context, fs storage.FS, name string, f storage.File) bool {
	is, err := fs.Stat(ctx, name)
	if err != nil {
		return false
	}
	open, err := f.Stat()
	return err == nil && open.Ino != 0 && is.Ino == open.Ino && is.Dev == open.Dev
}

// onlyOurs reports whether all files of a directory are those of a frame or
// store.
func onlyOurs(ctx context.Context, fs storage.FS, dir string) bool {
	files, err := (&directory{fs, dir}).list(ctx)
	return err == nil && !slices.ContainsFunc(files, func(file string) bool {
		return file != embedFile && file != chunksFile && path.Ext(file) != chunkSuffix &&
			!slices.Contains(leafExtensions, path.Ext(file)) && !leftOver(file)
	})
}
