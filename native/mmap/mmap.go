// Package mmap maps files into memory for reading.
//
// A mapping is a window on a file that others may change: bytes read twice
// may differ, and bytes beyond the end of a file that was cut since are not
// there. Touching those kills a program; ReadAt and View turn it into an
// error.
package mmap

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Map is a file, or the part of it that there was when it was opened, mapped
// read-only. Safe for concurrent use.
type Map struct {
	name string
	data []byte

	mu     sync.RWMutex // held shared while somebody reads, exclusive to unmap
	closed bool
}

// Open maps the regular file name whole. The descriptor is not kept.
//
// Errors: ErrNotFound, ErrNotAllowed, ErrIO, ErrLimit for a file that is
// larger than an address space, ErrUnsupported where there are no mappings.
func Open(name string) (*Map, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, failure(name, err)
	}
	defer f.Close()
	return New(f)
}

// New maps an open file whole. The mapping outlives the file's closing.
// Errors are those of Open.
func New(f *os.File) (*Map, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, failure(f.Name(), err)
	}
	size := info.Size()
	switch {
	case !info.Mode().IsRegular():
		return nil, fault.New(fault.ErrIO, "mmap", f.Name(), "not a regular file")
	case size != int64(int(size)):
		return nil, fault.New(fault.ErrLimit, "mmap", f.Name(), strconv.FormatInt(size, 10)+" bytes cannot be mapped here")
	}
	m := &Map{name: f.Name()}
	if size > 0 { // an empty mapping is an error everywhere
		if m.data, err = mapFile(f, int(size)); err != nil {
			return nil, failure(f.Name(), err)
		}
	}
	return m, nil
}

// Len is the size of the mapping in bytes.
func (m *Map) Len() int { return len(m.data) }

// Bytes is the mapping itself, until Close: the caller sees to it that nobody
// touches it later, and that the file is not cut meanwhile, either of which
// kills the program. It must not be written to.
func (m *Map) Bytes() []byte { return m.data }

// ReadAt is io.ReaderAt's. ErrIO where the file was cut since it was mapped
// (or cannot be read), ErrClosed after Close. It copies: the bytes in p are
// the caller's.
func (m *Map) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fault.At(fault.ErrInvalid, "mmap", m.name, off, "negative offset")
	}
	err = m.View(func(data []byte) error {
		if off < int64(len(data)) {
			n = copy(p, data[off:])
		}
		return nil
	})
	switch {
	case err != nil:
		return 0, err
	case n < len(p):
		return n, io.EOF
	}
	return n, nil
}

// ReadBetween copies len(p) bytes at off, between two looks at the aligned
// 8-byte words at the offsets of words, as [storage.Mapping] says. Nothing is
// read earlier or later than that, on any processor.
//
// ErrInvalid for what lies outside the mapping, else as ReadAt.
func (m *Map) ReadBetween(p []byte, off int64, words [2]int64) (before, after [2]uint64, err error) {
	err = m.View(func(data []byte) error {
		size := int64(len(data))
		if off < 0 || off > size || int64(len(p)) > size-off {
			return fault.At(fault.ErrInvalid, "mmap", m.name, off, "outside the mapping")
		}
		for _, w := range words {
			if w < 0 || w&7 != 0 || w > size-8 {
				return fault.At(fault.ErrInvalid, "mmap", m.name, w, "not a word of the mapping")
			}
		}
		for i, w := range words {
			before[i] = loadWord(data, w)
		}
		copy(p, data[off:])
		// A load is not kept from moving ahead of earlier loads; it is kept
		// from moving ahead of a store, and a store from moving ahead of
		// anything.
		var fence atomic.Uint64
		fence.Store(1)
		for i, w := range words {
			after[i] = loadWord(data, w)
		}
		return nil
	})
	return before, after, err
}

// littleEndian turns a number of this machine into the one whose bytes it has
// in memory, read from the lowest.
func littleEndian(w uint64) uint64 {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], w)
	return binary.LittleEndian.Uint64(b[:])
}

// View calls f with the mapping, which is valid until f returns. A fault on
// it in f is ErrIO, ErrClosed after Close. Close waits for f, so f must not
// call it.
func (m *Map) View(f func(data []byte) error) (err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return fault.New(fault.ErrClosed, "mmap", m.name, "")
	}
	// The setting is this goroutine's own.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			if err = m.faulted(p); err == nil {
				panic(p)
			}
		}
	}()
	return f(m.data)
}

// faulted returns the error of a panic that is a fault within the mapping.
func (m *Map) faulted(p any) error {
	e, ok := p.(interface{ Addr() uintptr })
	if !ok || len(m.data) == 0 {
		return nil
	}
	off := e.Addr() - start(m.data)
	if off >= uintptr(len(m.data)) {
		return nil
	}
	return fault.At(fault.ErrIO, "mmap", m.name, int64(off), "the file was cut while it was mapped, or cannot be read")
}

// Close waits for whoever is in ReadAt or View and unmaps. What Bytes gave
// must not be touched any more. Closing twice is fine.
func (m *Map) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	if len(m.data) == 0 {
		return nil
	}
	data := m.data
	m.data = nil
	if err := unmap(data); err != nil {
		return failure(m.name, err)
	}
	return nil
}

func failure(name string, err error) error {
	kind := fault.ErrIO
	for _, k := range []error{fault.ErrNotFound, fault.ErrNotAllowed, fault.ErrClosed, fault.ErrUnsupported} {
		if errors.Is(err, std[k]) {
			kind = k
		}
	}
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fault.New(kind, "mmap", name, err.Error())
}

var std = map[error]error{
	fault.ErrNotFound:    os.ErrNotExist,
	fault.ErrNotAllowed:  os.ErrPermission,
	fault.ErrClosed:      os.ErrClosed,
	fault.ErrUnsupported: errors.ErrUnsupported,
}
