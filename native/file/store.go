package file

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Options of a Store. The zero value is the advice.
type Options struct {
	Handles int           // files kept open at most; 0: 512
	Recheck time.Duration // how long a name is trusted to lead to its open file; 0: one second
	Largest int64         // bytes of one range of ReadRanges; 0: 4 GiB
}

// Store is a directory as a storage.Store, BufferReader, Lister and Putter: keys are
// slash-separated paths of regular files below it. Methods may be called from
// any number of goroutines.
//
// Errors beyond those of the port: ErrNotAllowed for what the user may not
// read and for a symbolic link that leads out of the directory (which is not
// followed, so that it does not tell what is there), ErrIO for what is not a
// regular file, ErrLimit for a range above Options.Largest, ErrClosed after
// Close.
type Store struct {
	root    *os.Root
	id      string
	recheck time.Duration
	largest int64
	epoch   time.Time // of the monotonic clock

	mu     sync.RWMutex
	cache  handleCache
	closed bool

	swept sync.Map // directories that are clear of temporary files of dead writers
}

// Open opens the directory dir as a store.
func Open(dir string, o Options) (*Store, error) {
	root, err := openRoot(dir)
	if err != nil {
		return nil, failure(dir, err)
	}
	id, err := identity(root)
	if err != nil {
		root.Close()
		return nil, failure(dir, err)
	}
	if o.Handles <= 0 {
		o.Handles = 512
	}
	if o.Recheck <= 0 {
		o.Recheck = time.Second
	}
	if o.Largest <= 0 {
		o.Largest = 4 << 30
	}
	return &Store{
		root: root, id: id, recheck: o.Recheck, largest: o.Largest, epoch: time.Now(), cache: newHandleCache(o.Handles),
	}, nil
}

// identity is that of the directory, whatever path led there.
func identity(root *os.Root) (string, error) {
	d, err := root.Open(".")
	if err != nil {
		return "", err
	}
	defer d.Close()
	s, _, err := fstat(d, d.Fd())
	return "file " + strconv.FormatUint(s.dev, 16) + "." + strconv.FormatUint(s.ino, 16), err
}

// Identity names the directory: two stores of it are the same (storage.Same).
func (s *Store) Identity() string { return s.id }

// Close closes the store and, as soon as the last read of each has ended, its
// files. Closing twice is fine.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.cache.shrink(0)
	return s.root.Close()
}

// ReadInto is BufferReader's. Warm and with a wanted version it makes two
// system calls, takes no exclusive lock and allocates nothing.
func (s *Store) ReadInto(ctx context.Context, key string, off int64, dst []byte, want storage.Version) (int, storage.ObjectInfo, error) {
	if _, err := storage.IntoRange(key, off, dst); err != nil {
		return 0, storage.ObjectInfo{}, err
	}
	n := 0
	info, err := s.read(ctx, key, want, func(h *handle, size int64) (err error) {
		n, err = h.readAt(dst, off)
		return err
	})
	if err != nil {
		n = 0
	}
	return n, info, err
}

// Check is Checker's: one system call where the file is open.
func (s *Store) Check(ctx context.Context, key string, want storage.Version) error {
	_, err := s.read(ctx, key, want, func(*handle, int64) error { return nil })
	return err
}

// ReadRanges is Store's.
func (s *Store) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	if err := storage.CheckRead(ctx, key, rs); err != nil {
		return nil, storage.ObjectInfo{}, err
	}
	bs := make([][]byte, len(rs))
	info, err := s.read(ctx, key, want, func(h *handle, size int64) error {
		for i, r := range rs {
			off, n := r.Resolve(size)
			if n > s.largest {
				// A sparse file may claim any size.
				return fault.At(fault.ErrLimit, "store", key, off, "a range of "+strconv.FormatInt(n, 10)+" bytes")
			}
			if int64(cap(bs[i])) < n {
				bs[i] = make([]byte, n)
			}
			got, err := h.readAt(bs[i][:n], off)
			if err != nil {
				return err
			}
			bs[i] = bs[i][:got]
		}
		return nil
	})
	if err != nil {
		return nil, info, err
	}
	return bs, info, nil
}

// attempts is how often a read without a wanted version is tried while the
// object changes under it.
const attempts = 8

// read calls fetch with an open file of the object and its size, and makes
// sure that what fetch read was all of one version, of the wanted one if
// there is one. fetch may be called again, for another file.
func (s *Store) read(ctx context.Context, key string, want storage.Version, fetch func(h *handle, size int64) error) (storage.ObjectInfo, error) {
	var info storage.ObjectInfo
	for range attempts {
		if err := storage.Ended(ctx, key); err != nil {
			return info, err
		}
		h, err := s.acquire(key)
		if err != nil {
			return info, err
		}
		info, err = h.read(ctx, key, want, fetch)
		if err == errReplaced {
			s.forget(h)
		}
		h.release()
		if err != errReplaced && err != errChanged {
			return info, err
		}
	}
	return info, fault.New(fault.ErrStale, "store", key, "it goes on changing")
}

// acquire returns the open file of a key, which the caller releases.
func (s *Store) acquire(key string) (*handle, error) {
	s.mu.RLock()
	h := s.cache.get(key)
	s.mu.RUnlock()
	if h == nil {
		return s.open(key)
	}
	now := time.Since(s.epoch)
	if last := h.checked.Load(); now-time.Duration(last) < s.recheck || !h.checked.CompareAndSwap(last, int64(now)) {
		return h, nil
	}
	// One reader a second looks whether the name still leads here.
	fresh, err := s.openFile(key)
	if err != nil {
		s.forget(h)
		h.release()
		return nil, err
	}
	if fresh.first.sameFile(h.first) {
		fresh.release()
		return h, nil
	}
	s.forget(h)
	h.release()
	return s.keep(fresh)
}

func (s *Store) open(key string) (*handle, error) {
	if err := storage.CheckKey(key); err != nil {
		return nil, err
	}
	h, err := s.openFile(key)
	if err != nil {
		return nil, err
	}
	return s.keep(h)
}

// openFile opens the file of a key, for one holder, outside the cache.
func (s *Store) openFile(key string) (*handle, error) {
	var f *os.File
	err := s.room(func() (err error) {
		f, err = openRead(s.root, key)
		return err
	})
	if err != nil {
		return nil, failure(key, err)
	}
	h, err := newHandle(key, f)
	if err != nil {
		f.Close()
		return nil, err
	}
	h.checked.Store(int64(time.Since(s.epoch)))
	return h, nil
}

// room calls do, which opens something, and calls it again after half of the
// files that are kept have been closed if no more can be opened.
func (s *Store) room(do func() error) error {
	err := do()
	if tooManyOpen(err) {
		s.mu.Lock()
		s.cache.shrink(s.cache.len() / 2)
		s.mu.Unlock()
		err = do()
	}
	return err
}

// keep puts h into the cache, or gives way to one that came first.
func (s *Store) keep(h *handle) (*handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		h.release()
		return nil, fault.New(fault.ErrClosed, "store", h.key, "")
	}
	if first := s.cache.get(h.key); first != nil {
		h.release()
		return first, nil
	}
	s.cache.put(h)
	return h, nil
}

func (s *Store) forget(h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cache.drop(h)
}

var (
	errReplaced = errors.New("the name leads to another file")
	errChanged  = errors.New("the file changed while it was read")
)
