package file

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// A write makes a temporary file beside the object, syncs it, and renames it
// into the object's place: a reader, and whoever looks after a crash, finds
// the old bytes or the new. Writers of all processes take turns by a lock of
// the directory, under which conditions are checked; so a temporary file that
// is found under the lock was left by a process that died, and is removed.

// Temporary is how names of what is not whole yet begin: files of ours, and
// directories of callers who put a whole tree in its place by a rename. They
// are no keys. Files that are left over are removed, directories are not.
const Temporary = ".gridhold-tmp-"

// Put is Putter's. It makes the directories of the key where they are
// missing. The bytes are on the disk when it returns.
func (s *Store) Put(ctx context.Context, key string, data []byte, c storage.Condition) (storage.Version, error) {
	unlock, err := s.lockFor(ctx, key, true)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := s.holds(ctx, key, c); err != nil {
		return "", err
	}
	target, err := s.followed(key)
	if err != nil {
		return "", err
	}
	name := path.Join(path.Dir(key), Temporary+rand.Text())
	if err := s.room(func() error { return s.writeNew(name, data) }); err != nil {
		s.root.Remove(name)
		return "", failure(key, err)
	}
	if err := s.room(func() error { return s.root.Rename(name, target) }); err != nil {
		s.root.Remove(name)
		return "", failure(key, err)
	}
	if err := s.syncDir(path.Dir(target)); err != nil {
		return "", err
	}
	return s.adopt(key)
}

// followed is what a key that is a link leads to.
func (s *Store) followed(key string) (target string, err error) {
	err = s.room(func() error {
		target, err = followed(s.root, key)
		return err
	})
	return target, failure(key, err)
}

// adopt opens the file that was just put in place and returns its version. A
// read would wait until a change could not go unseen any more; but this file
// is new, and whoever writes through a Store makes another one.
func (s *Store) adopt(key string) (storage.Version, error) {
	h, err := s.openFile(key)
	if err != nil {
		return "", err
	}
	defer h.release()
	now, _, err := fstat(h.file, h.fd)
	if err != nil {
		return "", failure(key, err)
	}
	fresh := &state{stat: now, version: now.version(false)}
	h.known.Store(fresh)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", fault.New(fault.ErrClosed, "store", key, "")
	}
	if old := s.cache.byKey[key]; old != nil {
		s.cache.drop(old)
	}
	s.cache.put(h)
	return fresh.version, nil
}

// Delete is Putter's. It leaves directories, empty ones too.
func (s *Store) Delete(ctx context.Context, key string, c storage.Condition) error {
	unlock, err := s.lockFor(ctx, key, false)
	if errors.Is(err, fault.ErrNotFound) && c.Version == "" {
		return nil // the directory is not there either
	}
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.holds(ctx, key, c); err != nil {
		return err
	}
	err = failure(key, s.room(func() error { return s.root.Remove(key) }))
	if errors.Is(err, fault.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.syncDir(path.Dir(key))
}

// holds checks a condition. The caller holds the directory's lock.
func (s *Store) holds(ctx context.Context, key string, c storage.Condition) error {
	if c.Absent {
		err := s.room(func() error {
			_, err := s.root.Lstat(key)
			return err
		})
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return failure(key, err)
		}
		return c.Check(key, true, "")
	}
	if c.Version == "" {
		return nil
	}
	_, err := s.read(ctx, key, c.Version, func(*handle, int64) error { return nil })
	if errors.Is(err, fault.ErrNotFound) {
		return storage.Stale(key)
	}
	return err
}

func (s *Store) writeNew(name string, data []byte) error {
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func (s *Store) syncDir(dir string) error {
	return failure(dir, s.room(func() error {
		d, err := s.root.Open(dir)
		if err != nil {
			return err
		}
		defer d.Close()
		return syncDir(d)
	}))
}

// lockFor takes the lock of a key's directory, which it makes if make is set,
// and clears the directory of what dead writers left, once a store.
func (s *Store) lockFor(ctx context.Context, key string, make bool) (unlock func(), err error) {
	if err := storage.CheckRead(ctx, key, nil); err != nil {
		return nil, err
	}
	if s.isClosed() {
		return nil, fault.New(fault.ErrClosed, "store", key, "")
	}
	dir := path.Dir(key)
	if make {
		if err := s.mkdirs(dir); err != nil {
			return nil, failure(key, err)
		}
	}
	var lock *os.File
	err = s.room(func() (err error) {
		lock, err = openLock(s.root, dir)
		return err
	})
	if err != nil {
		return nil, failure(key, err)
	}
	if err := waitLock(ctx, key, lock); err != nil {
		lock.Close()
		return nil, err
	}
	if _, seen := s.swept.LoadOrStore(dir, true); !seen {
		s.sweep(dir)
	}
	return func() { lock.Close() }, nil
}

// mkdirs makes a directory and those above it, where they are missing, and has
// them on the disk: without one of them, nothing in it is.
func (s *Store) mkdirs(dir string) error {
	var within []string // which names of new ones are in
	for d := dir; d != "."; d = path.Dir(d) {
		err := s.room(func() error {
			_, err := s.root.Stat(d)
			return err
		})
		if err == nil {
			break
		}
		within = append(within, path.Dir(d))
	}
	if within == nil {
		return nil
	}
	if err := s.room(func() error { return s.root.MkdirAll(dir, 0o777) }); err != nil {
		return err
	}
	for _, d := range within {
		if err := s.syncDir(d); err != nil {
			return err
		}
	}
	return nil
}

// waitLock asks for a lock again and again, a little later each time: a holder
// is done within milliseconds, and a system call that waits would not end
// with ctx.
func waitLock(ctx context.Context, key string, lock *os.File) error {
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, 10*time.Millisecond) {
		held, err := flock(lock, true, false)
		if err != nil {
			return failure(key, err)
		}
		if held {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return storage.Ended(ctx, key)
		case <-timer.C:
		}
	}
}

// sweep removes temporary files. Whoever made them held the lock that the
// caller holds now, so is gone.
func (s *Store) sweep(dir string) {
	d, err := s.root.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	entries, _ := d.ReadDir(-1)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), Temporary) && !e.IsDir() {
			s.root.Remove(path.Join(dir, e.Name()))
		}
	}
}

func (s *Store) isClosed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.closed
}
