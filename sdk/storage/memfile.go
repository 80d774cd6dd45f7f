package storage

import (
	"io"
	"strconv"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
)

// memoryFile is one opening of a file of a MemoryFS, whose lock guards it.
type memoryFile struct {
	fs     *MemoryFS
	node   *memoryNode
	name   string
	write  bool
	closed bool
}

// enter takes the lock for a call about [off, off+n), which it leaves with an
// error.
func (f *memoryFile) enter(off, n int64, write bool) error {
	if err := CheckSpan(f.name, off, n); err != nil {
		return err
	}
	f.fs.mu.Lock()
	switch {
	case f.closed:
		f.fs.mu.Unlock()
		return fault.New(fault.ErrClosed, "file", f.name, "")
	case write && !f.write:
		f.fs.mu.Unlock()
		return ReadOnly(f.name)
	}
	return nil
}

// resize makes the file as long as size. It needs the lock.
func (f *memoryFile) resize(size int64) error {
	n := f.node
	more := size - n.data.size
	if more > f.fs.capacity-f.fs.used {
		return fault.New(fault.ErrNoSpace, "file", f.name, strconv.FormatInt(more, 10)+" bytes more")
	}
	f.fs.used += more
	n.data.resize(size)
	n.changed = time.Now()
	return nil
}

func (f *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.enter(off, int64(len(p)), false); err != nil {
		return 0, err
	}
	defer f.fs.mu.Unlock()
	n := f.node.data.read(p, off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.enter(off, int64(len(p)), true); err != nil {
		return 0, err
	}
	defer f.fs.mu.Unlock()
	if end := off + int64(len(p)); end > f.node.data.size && len(p) > 0 {
		if err := f.resize(end); err != nil {
			return 0, err
		}
	}
	f.node.changed = time.Now()
	f.node.data.write(p, off)
	return len(p), nil
}

func (f *memoryFile) Truncate(size int64) error {
	if err := f.enter(0, size, true); err != nil {
		return err
	}
	defer f.fs.mu.Unlock()
	return f.resize(size)
}

func (f *memoryFile) Allocate(off, n int64) error {
	if err := f.enter(off, n, true); err != nil {
		return err
	}
	defer f.fs.mu.Unlock()
	if off+n > f.node.data.size {
		return f.resize(off + n)
	}
	return nil
}

func (f *memoryFile) PunchHole(off, n int64) error {
	if err := f.enter(off, n, true); err != nil {
		return err
	}
	defer f.fs.mu.Unlock()
	f.node.data.zero(off, n)
	return nil
}

func (f *memoryFile) CopyRange(off int64, src File, srcOff, n int64) (int64, uint32, error) {
	if err := f.enter(off, n, true); err != nil {
		return 0, 0, err
	}
	f.fs.mu.Unlock()
	if err := CheckSpan(f.name, srcOff, n); err != nil {
		return 0, 0, err
	}
	return CopyThrough(f, off, src, srcOff, n, 0)
}

func (f *memoryFile) LockRange(off int64, m LockMode) (func() error, error) {
	if err := CheckLockMode(f.name, m); err != nil {
		return nil, err
	}
	if err := f.enter(off, 1, m == LockExclusive); err != nil {
		return nil, err
	}
	defer f.fs.mu.Unlock()
	holders := f.node.locks[off]
	for other, mode := range holders {
		if other == f || mode == LockExclusive || m == LockExclusive {
			return nil, fault.At(fault.ErrLocked, "file", f.name, off, "")
		}
	}
	if holders == nil {
		holders = map[*memoryFile]LockMode{}
		f.node.locks[off] = holders
	}
	holders[f] = m
	return func() error {
		if err := f.enter(off, 1, false); err != nil {
			return err
		}
		defer f.fs.mu.Unlock()
		f.unlock(off)
		return nil
	}, nil
}

// unlock needs the lock of the FS.
func (f *memoryFile) unlock(off int64) {
	delete(f.node.locks[off], f)
	if len(f.node.locks[off]) == 0 {
		delete(f.node.locks, off)
	}
}

func (f *memoryFile) Sync() error {
	if err := f.enter(0, 0, false); err != nil {
		return err
	}
	f.fs.mu.Unlock()
	return nil
}

func (f *memoryFile) Stat() (FileInfo, error) {
	if err := f.enter(0, 0, false); err != nil {
		return FileInfo{}, err
	}
	defer f.fs.mu.Unlock()
	return f.node.info(), nil
}

func (f *memoryFile) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	for off := range f.node.locks {
		f.unlock(off)
	}
	f.node.opened--
	f.fs.drop(f.node)
	return nil
}
