package faultfs

import (
	"context"

	"github.com/gridhold/gridhold/sdk/storage"
)

// FS returns fs as the process has it.
func (x *Faults) FS(fs storage.FS) *FS { return &FS{x: x, inner: fs} }

// FS is a storage.FS at which things go wrong.
type FS struct {
	x     *Faults
	inner storage.FS
}

// Locker is that of the file system, as the process has it; nil if it has none.
func (s *FS) Locker() storage.Locker {
	if l, ok := s.inner.(interface{ Locker() storage.Locker }); ok {
		return s.x.Locker(l.Locker())
	}
	return nil
}

// Open is storage.FS's.
func (s *FS) Open(ctx context.Context, name string, flags storage.OpenFlag) (storage.File, error) {
	op := Op{Kind: Open, Name: name}
	if flags&(storage.OpenCreate|storage.OpenTruncate) != 0 {
		op.Kind = Create
	}
	var opened *file
	err := s.x.step(op, nil, func(int64) error {
		f, err := s.inner.Open(ctx, name, flags)
		if err != nil {
			return err
		}
		if !s.x.opened(f) {
			f.Close()
			return ErrKilled
		}
		opened = &file{s.x, name, f}
		return nil
	})
	if err != nil {
		if opened != nil { // the answer was lost
			s.x.shut(opened.inner)
			opened.inner.Close()
		}
		return nil, err
	}
	return opened, nil
}

// Stat is storage.FS's.
func (s *FS) Stat(ctx context.Context, name string) (info storage.FileInfo, err error) {
	err = s.x.step(Op{Kind: Stat, Name: name}, nil, func(int64) (err error) {
		info, err = s.inner.Stat(ctx, name)
		return err
	})
	return info, err
}

// Rename is storage.FS's.
func (s *FS) Rename(ctx context.Context, from, to string) error {
	return s.x.step(Op{Kind: Rename, Name: from}, nil, func(int64) error { return s.inner.Rename(ctx, from, to) })
}

// RenameNoReplace is storage.FS's.
func (s *FS) RenameNoReplace(ctx context.Context, from, to string) error {
	return s.x.step(Op{Kind: Rename, Name: from}, nil, func(int64) error { return s.inner.RenameNoReplace(ctx, from, to) })
}

// Remove is storage.FS's.
func (s *FS) Remove(ctx context.Context, name string) error {
	return s.x.step(Op{Kind: Remove, Name: name}, nil, func(int64) error { return s.inner.Remove(ctx, name) })
}

// Mkdir is storage.FS's.
func (s *FS) Mkdir(ctx context.Context, name string) error {
	return s.x.step(Op{Kind: Mkdir, Name: name}, nil, func(int64) error { return s.inner.Mkdir(ctx, name) })
}

// List is storage.FS's.
func (s *FS) List(ctx context.Context, name string) (names []string, err error) {
	err = s.x.step(Op{Kind: List, Name: name}, nil, func(int64) (err error) {
		names, err = s.inner.List(ctx, name)
		return err
	})
	return names, err
}

// SyncDir is storage.FS's.
func (s *FS) SyncDir(ctx context.Context, name string) error {
	return s.x.step(Op{Kind: SyncDir, Name: name}, nil, func(int64) error { return s.inner.SyncDir(ctx, name) })
}

// StatFS is storage.FS's.
func (s *FS) StatFS(ctx context.Context, name string) (info storage.FSInfo, err error) {
	err = s.x.step(Op{Kind: StatFS, Name: name}, nil, func(int64) (err error) {
		info, err = s.inner.StatFS(ctx, name)
		return err
	})
	return info, err
}
