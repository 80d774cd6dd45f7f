package engine

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// mostAtOnce is how much of a file one import moves.
const mostAtOnce = 1 << 30

// file is an open file of the host's. Its methods have no context, so a call
// that a host answers later is waited for to its end.
type file struct {
	engine *Engine
	id     uint32
	fs     uint32 // that it was opened in
	name   string
	shut   atomic.Bool
}

// call makes a call about the file. Memory of the caller's may be in use by
// the host until it returns.
func (f *file) call(do func(token uint32) int32, keep any) (int32, error) {
	if f.shut.Load() {
		return 0, fault.New(fault.ErrClosed, "file", f.name, "")
	}
	return f.raw(do, keep)
}

func (f *file) raw(do func(token uint32) int32, keep any) (int32, error) {
	w, err := f.engine.take()
	if err != nil {
		return 0, err
	}
	defer f.engine.tokens.put(w)
	w.borrowed, w.rare = true, keep
	n, err := f.engine.settle(context.Background(), w, do(w.token))
	if err == nil && n < 0 {
		err = f.engine.failure(w, n, "file", f.name)
	}
	return n, err
}

// ReadAt implements [storage.File].
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if err := storage.CheckSpan(f.name, off, int64(len(p))); err != nil {
		return 0, err
	}
	for at := 0; ; {
		part := p[at:min(len(p), at+mostAtOnce)]
		n, err := f.call(func(token uint32) int32 { return f.engine.host.ReadAt(token, f.id, off+int64(at), part) }, part)
		if err != nil {
			return at, err
		}
		if int(n) > len(part) {
			return at, invalid("file", f.name, "more bytes than there was room for")
		}
		if at += int(n); int(n) < len(part) {
			return at, io.EOF
		}
		if at == len(p) {
			return at, nil
		}
	}
}

// WriteAt implements [storage.File].
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	if err := storage.CheckSpan(f.name, off, int64(len(p))); err != nil {
		return 0, err
	}
	for at := 0; ; {
		part := p[at:min(len(p), at+mostAtOnce)]
		n, err := f.call(func(token uint32) int32 { return f.engine.host.WriteAt(token, f.id, off+int64(at), part) }, part)
		if err != nil {
			return at, err
		}
		if int(n) != len(part) {
			return at, invalid("file", f.name, "that it wrote another number of bytes")
		}
		if at += int(n); at == len(p) {
			return at, nil
		}
	}
}

// Truncate implements [storage.File].
func (f *file) Truncate(size int64) error {
	if err := storage.CheckSpan(f.name, 0, size); err != nil {
		return err
	}
	_, err := f.call(func(token uint32) int32 { return f.engine.host.Truncate(token, f.id, size) }, nil)
	return err
}

// Sync implements [storage.File].
func (f *file) Sync() error {
	_, err := f.call(func(token uint32) int32 { return f.engine.host.Sync(token, f.id) }, nil)
	return err
}

// Stat implements [storage.File].
func (f *file) Stat() (storage.FileInfo, error) {
	c := &PathCall{}
	_, err := f.call(func(token uint32) int32 { return f.engine.host.StatFile(token, f.id, c) }, c)
	if err != nil {
		return storage.FileInfo{}, err
	}
	return fileInfo(&c.Stat), nil
}

// Allocate implements [storage.File].
func (f *file) Allocate(off, n int64) error {
	if err := storage.CheckSpan(f.name, off, n); err != nil {
		return err
	}
	_, err := f.call(func(token uint32) int32 { return f.engine.host.Allocate(token, f.id, off, n) }, nil)
	return err
}

// PunchHole implements [storage.File].
func (f *file) PunchHole(off, n int64) error {
	if err := storage.CheckSpan(f.name, off, n); err != nil {
		return err
	}
	_, err := f.call(func(token uint32) int32 { return f.engine.host.Punch(token, f.id, off, n) }, nil)
	return err
}

// CopyRange implements [storage.File].
func (f *file) CopyRange(off int64, src storage.File, srcOff, n int64) (copied int64, crc uint32, err error) {
	if err := storage.CheckSpan(f.name, off, n); err != nil {
		return 0, 0, err
	}
	if err := storage.CheckSpan(f.name, srcOff, n); err != nil {
		return 0, 0, err
	}
	from, ok := src.(*file)
	if !ok {
		return storage.CopyThrough(f, off, src, srcOff, n, 0)
	}
	if from.shut.Load() {
		return 0, 0, fault.New(fault.ErrClosed, "file", from.name, "")
	}
	c := &CopyCall{Wire: wire.Copy{Off: off, SrcOff: srcOff, N: n, File: f.id, Src: from.id}}
	_, err = f.call(func(token uint32) int32 { return f.engine.host.Copy(token, c) }, c)
	if fault.CodeOf(err) == fault.CodeUnsupported {
		return storage.CopyThrough(f, off, src, srcOff, n, 0)
	}
	if err == nil && (c.Stat.Size < 0 || c.Stat.Size > n) {
		err = invalid("file", f.name, "that it copied another number of bytes")
	}
	if err != nil {
		return 0, 0, err
	}
	return c.Stat.Size, c.Stat.ID, nil
}

// LockRange implements [storage.File].
func (f *file) LockRange(off int64, m storage.LockMode) (func() error, error) {
	if err := storage.CheckLockMode(f.name, m); err != nil {
		return nil, err
	}
	if err := storage.CheckSpan(f.name, off, 1); err != nil {
		return nil, err
	}
	lock := func(mode uint32) error {
		_, err := f.call(func(token uint32) int32 { return f.engine.host.LockRange(token, f.id, off, mode) }, nil)
		return err
	}
	if err := lock(uint32(m)); err != nil {
		return nil, err
	}
	var undone atomic.Bool
	return func() error {
		if undone.Swap(true) {
			return fault.At(fault.ErrClosed, "file", f.name, off, "unlocked twice")
		}
		return lock(wire.RangeUnlock)
	}, nil
}

// Close implements [storage.File].
func (f *file) Close() error {
	if f.shut.Swap(true) {
		return nil
	}
	_, err := f.raw(func(token uint32) int32 { return f.engine.host.Close(token, f.id) }, nil)
	return err
}
