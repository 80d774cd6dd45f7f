package file

import (
	"context"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// handle is one open file. It is closed when its last holder releases it, so
// never under a reader, whatever the cache does.
type handle struct {
	key   string
	file  *os.File
	fd    uintptr
	first stat // when it was opened
	slot  int  // in the ring of the cache

	refs    atomic.Int64
	used    atomic.Bool
	checked atomic.Int64 // when the name was last seen to lead here, since the store's epoch
	known   atomic.Pointer[state]
}

// state is one state of a file and the version that names it.
type state struct {
	stat
	version storage.Version
	racy    bool // the file may change without a trace in stat
}

// stat is what the system tells of an open file.
type stat struct {
	size          int64
	mtime, change int64 // ns since 1970
	dev, ino      uint64
}

func (a stat) sameFile(b stat) bool { return a.dev == b.dev && a.ino == b.ino }

// newHandle takes an open file over, for one holder.
func newHandle(key string, f *os.File) (*handle, error) {
	h := &handle{key: key, file: f, fd: f.Fd()}
	h.refs.Store(1)
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, failure(key, err)
	case info.IsDir():
		return nil, fault.New(fault.ErrIO, "store", key, "is a directory")
	case !info.Mode().IsRegular():
		return nil, fault.New(fault.ErrIO, "store", key, "is not a regular file")
	}
	if h.first, _, err = fstat(h.file, h.fd); err != nil {
		return nil, failure(key, err)
	}
	return h, nil
}

func (h *handle) release() {
	if h.refs.Add(-1) == 0 {
		h.file.Close() // read only: nothing to lose
	}
}

// readAt reads until dst is full or the file ends.
func (h *handle) readAt(dst []byte, off int64) (int, error) {
	done := 0
	for done < len(dst) {
		n, err := pread(h.file, h.fd, dst[done:], off+int64(done))
		if err != nil {
			return done, failure(h.key, err)
		}
		if n == 0 {
			break
		}
		done += n
	}
	return done, nil
}

// read is one attempt of Store.read with this file.
func (h *handle) read(ctx context.Context, key string, want storage.Version, fetch func(h *handle, size int64) error) (storage.ObjectInfo, error) {
	// With a wanted version the state before need not be asked for: only the
	// one after the bytes were read decides.
	before := h.known.Load()
	if want == "" || before == nil || before.version != want {
		var err error
		if before, err = h.look(); err != nil {
			return storage.ObjectInfo{}, err
		}
		if want == "" && before.racy {
			if before, err = h.settle(ctx, before); err != nil {
				return storage.ObjectInfo{}, err
			}
		}
		if want != "" && before.version != want {
			return before.info(), storage.Stale(key)
		}
	}
	failed := fetch(h, before.size)
	after, links, err := fstat(h.file, h.fd)
	switch {
	case err != nil:
		return storage.ObjectInfo{}, failure(key, err)
	case links == 0:
		return storage.ObjectInfo{}, errReplaced
	case after != before.stat && want == "":
		return storage.ObjectInfo{}, errChanged
	case after != before.stat:
		return storage.ObjectInfo{Size: after.size}, storage.Stale(key)
	}
	return before.info(), failed
}

func (s *state) info() storage.ObjectInfo {
	return storage.ObjectInfo{Size: s.size, Version: s.version}
}

// look asks the system for the state of the file now: the one that is known,
// if nothing changed.
func (h *handle) look() (*state, error) {
	now, links, err := fstat(h.file, h.fd)
	if err != nil {
		return nil, failure(h.key, err)
	}
	if links == 0 {
		return nil, errReplaced
	}
	known := h.known.Load()
	if known != nil && known.stat == now {
		return known, nil
	}
	fresh := &state{stat: now, racy: racy(now)}
	fresh.version = now.version(fresh.racy)
	if !fresh.racy {
		h.known.Store(fresh)
	}
	return fresh, nil
}

// settle waits until a change of the file would show, and looks again.
func (h *handle) settle(ctx context.Context, s *state) (*state, error) {
	timer := time.NewTimer(time.Until(time.Unix(0, max(s.mtime, s.change)).Add(tick)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil, storage.Ended(ctx, h.key)
	case <-timer.C:
		return h.look()
	}
}

// tick is longer than the time within which two changes of a file may get
// the same time stamp (a scheduler tick: 1 to 16 ms).
const tick = 20 * time.Millisecond

// racy reports whether the file changed so lately that another change might
// leave the same stamp. A stamp well in the future was set by hand, or by
// another machine's clock, and says nothing of now.
func racy(s stat) bool {
	age := time.Since(time.Unix(0, max(s.mtime, s.change)))
	return age < tick && age > -tick
}

var raced atomic.Int64

// version names the state; a racy one so that no other version equals it.
func (s stat) version(racy bool) storage.Version {
	b := make([]byte, 0, 80)
	b = strconv.AppendInt(b, s.size, 16)
	for _, v := range [...]uint64{uint64(s.mtime), uint64(s.change), s.ino, s.dev} {
		b = append(b, '.')
		b = strconv.AppendUint(b, v, 16)
	}
	if racy {
		b = append(b, '~')
		b = strconv.AppendInt(b, raced.Add(1), 16)
	}
	return storage.Version(b)
}
