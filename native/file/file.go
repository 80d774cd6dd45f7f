package file

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gridhold/gridhold/native/mmap"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// osFile is storage.File over a file of the system.
type osFile struct {
	*os.File
	name  string
	write bool

	mu    sync.Mutex
	locks map[int64]bool // bytes that this open file has locked

	life sync.RWMutex // held shared while fd is used
	fd   uintptr      // where statsOpen
	shut bool
	way  atomic.Uint32 // how to ask about the file, see Stat; 0: not known yet
}

func newFile(f *os.File, name string, write bool) *osFile {
	o := &osFile{File: f, name: name, write: write, locks: map[int64]bool{}}
	if statsOpen {
		o.fd = f.Fd()
	}
	return o
}

// check is the gate of a call about [off, off+n).
func (f *osFile) check(off, n int64, write bool) error {
	if err := storage.CheckSpan(f.name, off, n); err != nil {
		return err
	}
	if write && !f.write {
		return storage.ReadOnly(f.name)
	}
	return nil
}

func (f *osFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.check(off, int64(len(p)), false); err != nil {
		return 0, err
	}
	n, err := f.File.ReadAt(p, off)
	if err != io.EOF {
		err = failure(f.name, err)
	}
	return n, err
}

func (f *osFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.check(off, int64(len(p)), true); err != nil {
		return 0, err
	}
	n, err := f.File.WriteAt(p, off)
	return n, failure(f.name, err)
}

func (f *osFile) Truncate(size int64) error {
	if err := f.check(0, size, true); err != nil {
		return err
	}
	return failure(f.name, f.File.Truncate(size))
}

func (f *osFile) Sync() error { return failure(f.name, f.File.Sync()) }

// How to ask the system about an open file.
const (
	askShortly = iota + 1 // see raw_linux.go
	askPlainly
)

// Stat is File's. Containers ask before each read, so it is one system call
// and nothing else where that is possible.
func (f *osFile) Stat() (info storage.FileInfo, err error) {
	f.life.RLock()
	defer f.life.RUnlock()
	if f.shut {
		return info, fault.New(fault.ErrClosed, "file", f.name, "")
	}
	way := f.way.Load()
	if way == 0 {
		way = askPlainly
		if fs, err := statFS(f.File); rawCalls && err == nil && !fs.Network && fs.Kind != "" {
			way = askShortly
		}
		f.way.Store(way)
	}
	if way == askShortly && rawStat(f.fd, &info) {
		return info, nil
	}
	if statsOpen {
		return info, failure(f.name, statOpen(f.fd, &info))
	}
	return fileInfo(f.File, f.name)
}

func (f *osFile) Allocate(off, n int64) error {
	if err := f.check(off, n, true); err != nil || n == 0 {
		return err
	}
	return f.control(func(fd uintptr) error { return allocate(fd, off, n) })
}

func (f *osFile) PunchHole(off, n int64) error {
	if err := f.check(off, n, true); err != nil || n == 0 {
		return err
	}
	return f.control(func(fd uintptr) error { return punchHole(fd, off, n) })
}

// control calls do with the descriptor, which stays open meanwhile.
func (f *osFile) control(do func(fd uintptr) error) error {
	c, err := f.File.SyscallConn()
	if err != nil {
		return failure(f.name, err)
	}
	var failed error
	if c.Control(func(fd uintptr) { failed = do(fd) }) != nil {
		return fault.New(fault.ErrClosed, "file", f.name, "")
	}
	return failure(f.name, failed)
}

// chunk is how much of a copy is done, and its CRC taken, at a time: while it
// is in the processor's cache or at least in the system's.
const chunk = 1 << 20

// block is what file systems share between files, or a multiple of it.
const block = 4096

var buffers = sync.Pool{New: func() any { b := make([]byte, chunk); return &b }}

// CopyRange lets the system copy between two of its files, where that may be
// done by sharing blocks, and takes the CRC of what then is here. Other bytes
// are faster read and written.
func (f *osFile) CopyRange(off int64, src storage.File, srcOff, n int64) (copied int64, crc uint32, err error) {
	if err := f.check(off, n, true); err != nil {
		return 0, 0, err
	}
	if err := storage.CheckSpan(f.name, srcOff, n); err != nil {
		return 0, 0, err
	}
	from, ok := src.(*osFile)
	if !ok || (off|srcOff|n)%block != 0 {
		return storage.CopyThrough(f, off, src, srcOff, n, 0)
	}
	var buf *[]byte
	for copied < n {
		k, err := f.copyHere(off+copied, from, srcOff+copied, min(n-copied, chunk))
		if err != nil || k == 0 {
			// Not between these two, or src ends here: this way shows which.
			rest, crc, err := storage.CopyThrough(f, off+copied, src, srcOff+copied, n-copied, crc)
			return copied + rest, crc, err
		}
		if buf == nil {
			buf = buffers.Get().(*[]byte)
			defer buffers.Put(buf)
		}
		p := (*buf)[:k]
		if _, err := f.ReadAt(p, off+copied); err != nil {
			return copied, crc, shortened(f.name, err)
		}
		crc = storage.UpdateCRC(crc, p)
		copied += int64(k)
	}
	return copied, crc, nil
}

// shortened: somebody cut the file while we filled it.
func shortened(name string, err error) error {
	if err == io.EOF {
		return fault.New(fault.ErrIO, "file", name, "cut while it was copied to")
	}
	return err
}

func (f *osFile) copyHere(off int64, src *osFile, srcOff, n int64) (k int, err error) {
	err = f.control(func(fd uintptr) error {
		return src.control(func(from uintptr) (err error) {
			k, err = copyRange(fd, off, from, srcOff, int(n))
			return err
		})
	})
	return k, err
}

func (f *osFile) LockRange(off int64, m storage.LockMode) (func() error, error) {
	if err := storage.CheckLockMode(f.name, m); err != nil {
		return nil, err
	}
	if err := f.check(off, 1, m == storage.LockExclusive); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	// The system lets the same open file lock again; then one unlock would
	// undo both.
	if f.locks[off] {
		return nil, fault.At(fault.ErrLocked, "file", f.name, off, "by the same open file")
	}
	held := false
	err := f.control(func(fd uintptr) (err error) {
		held, err = lockRange(fd, off, m)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !held {
		return nil, fault.At(fault.ErrLocked, "file", f.name, off, "")
	}
	f.locks[off] = true
	return func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !f.locks[off] {
			return fault.At(fault.ErrClosed, "file", f.name, off, "unlocked twice")
		}
		delete(f.locks, off)
		return f.control(func(fd uintptr) error { return unlockRange(fd, off) })
	}, nil
}

// Map is storage.Mapper's.
func (f *osFile) Map() (storage.Mapping, error) {
	m, err := mmap.New(f.File)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Close frees all locks of this open file.
func (f *osFile) Close() error {
	f.life.Lock()
	defer f.life.Unlock()
	f.shut = true
	if err := f.File.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return failure(f.name, err)
	}
	return nil
}

func fileInfo(f *os.File, name string) (storage.FileInfo, error) {
	std, err := f.Stat()
	if err != nil {
		return storage.FileInfo{}, failure(name, err)
	}
	c, err := f.SyscallConn()
	if err != nil {
		return storage.FileInfo{}, failure(name, err)
	}
	var s stat
	var links uint64
	var failed error
	if err := c.Control(func(fd uintptr) { s, links, failed = fstat(f, fd) }); err != nil {
		failed = err
	}
	return storage.FileInfo{
		Size: s.size, ModTime: time.Unix(0, s.mtime), ChangeTime: changeTime(s), Allocated: allocated(std),
		Dev: s.dev, Ino: s.ino, Links: links, Dir: std.IsDir(),
	}, failure(name, failed)
}
