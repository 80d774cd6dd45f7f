package faultfs

import (
	"bytes"
	"io"

	"github.com/gridhold/gridhold/sdk/storage"
)

// file is a storage.File at which things go wrong.
type file struct {
	x     *Faults
	name  string
	inner storage.File
}

func (f *file) step(kind Kind, off, n int64, do func(n int64) error) error {
	return f.x.step(Op{Kind: kind, Name: f.name, Off: off, Len: n}, f, do)
}

func (f *file) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.step(Read, off, int64(len(p)), func(most int64) (err error) {
		n, err = f.inner.ReadAt(p[:most], off)
		if err == nil && n < len(p) {
			err = io.EOF
		}
		return err
	})
	return n, err
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	done := 0
	own := bytes.Clone(p) // it may be written when the caller has his buffer again
	err := f.step(Write, off, int64(len(p)), func(most int64) (err error) {
		done, err = f.inner.WriteAt(own[:most], off)
		return err
	})
	if err == nil {
		done = len(p)
	}
	return done, err
}

func (f *file) Truncate(size int64) error {
	return f.step(Truncate, size, 0, func(int64) error { return f.inner.Truncate(size) })
}

func (f *file) Sync() error {
	return f.step(Sync, 0, 0, func(int64) error { return f.inner.Sync() })
}

func (f *file) Stat() (info storage.FileInfo, err error) {
	err = f.step(Stat, 0, 0, func(int64) (err error) {
		info, err = f.inner.Stat()
		return err
	})
	return info, err
}

func (f *file) Allocate(off, n int64) error {
	return f.step(Allocate, off, n, func(n int64) error { return f.inner.Allocate(off, n) })
}

func (f *file) PunchHole(off, n int64) error {
	return f.step(Punch, off, n, func(n int64) error { return f.inner.PunchHole(off, n) })
}

func (f *file) CopyRange(off int64, src storage.File, srcOff, n int64) (copied int64, crc uint32, err error) {
	if s, ok := src.(*file); ok {
		s.x.overdue(s)
		src = s.inner // the copy is one operation, of whoever writes
	}
	err = f.step(Copy, off, n, func(most int64) (err error) {
		copied, crc, err = f.inner.CopyRange(off, src, srcOff, most)
		return err
	})
	return copied, crc, err
}

func (f *file) LockRange(off int64, m storage.LockMode) (func() error, error) {
	var free func() error
	err := f.step(LockRange, off, 0, func(int64) (err error) {
		free, err = f.inner.LockRange(off, m)
		return err
	})
	if err != nil {
		if free != nil { // the answer was lost
			_ = free()
		}
		return nil, err
	}
	return func() error { return f.step(Unlock, off, 0, func(int64) error { return free() }) }, nil
}

// Close frees the file whatever goes wrong, as systems do.
func (f *file) Close() error {
	err := f.step(Close, 0, 0, func(int64) error { return f.inner.Close() })
	if err != nil {
		f.inner.Close()
	}
	f.x.shut(f.inner)
	return err
}
