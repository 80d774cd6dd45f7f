package faultfs

import (
	"bytes"

	"github.com/gridhold/gridhold/sdk/storage"
)

// diskFile is one opening of a file of a Disk.
type diskFile struct {
	storage.File
	disk *Disk
	ino  uint64
}

// do does a change and notes it.
func (f *diskFile) do(c change, do func() error) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := do(); err != nil {
		return err
	}
	c.of = f.ino
	f.disk.note(c)
	return nil
}

func (f *diskFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.do(change{off: off, end: off + int64(len(p)), data: bytes.Clone(p)}, func() (err error) {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	return n, err
}

func (f *diskFile) Truncate(size int64) error {
	return f.do(change{off: size, end: -1}, func() error { return f.File.Truncate(size) })
}

// Allocate only ever makes a file longer, which is what is noted.
func (f *diskFile) Allocate(off, n int64) error {
	info, err := f.File.Stat()
	if err != nil || off+n <= info.Size {
		if err == nil {
			err = f.File.Allocate(off, n)
		}
		return err
	}
	return f.do(change{off: off + n, end: -1}, func() error { return f.File.Allocate(off, n) })
}

func (f *diskFile) PunchHole(off, n int64) error {
	info, err := f.File.Stat()
	if err != nil {
		return err
	}
	end := max(min(off+n, info.Size), off)
	return f.do(change{off: off, end: end}, func() error { return f.File.PunchHole(off, n) })
}

func (f *diskFile) CopyRange(off int64, src storage.File, srcOff, n int64) (int64, uint32, error) {
	if _, _, err := f.File.CopyRange(off, src, srcOff, 0); err != nil { // what is wrong with the call
		return 0, 0, err
	}
	if err := storage.CheckSpan("", srcOff, n); err != nil {
		return 0, 0, err
	}
	return storage.CopyThrough(f, off, src, srcOff, n, 0)
}

func (f *diskFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.File.Sync(); err != nil {
		return err
	}
	for i := range f.disk.log {
		if c := &f.disk.log[i]; c.of == f.ino && c.name == nil {
			c.synced = true
		}
	}
	return nil
}
