package blosc2

import (
	"context"
	"errors"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// viewer is a mapping whose bytes can be used where they are, until f returns.
// A fault on them in f (the file was cut) is an error.
type viewer interface {
	View(f func(data []byte) error) error
}

// mapped is a file that was mapped as long as it was then. What it grew by
// since is read.
type mapped struct {
	storage.File
	m storage.Mapping
	n int64
}

// mapFile maps an open file, which is closed if that fails.
func mapFile(f storage.File, name string) (source, error) {
	p, ok := f.(storage.Mapper)
	if !ok {
		return nil, errors.Join(fault.New(fault.ErrUnsupported, "blosc2", name, "this file system does not map files"), f.Close())
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	m, err := p.Map()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &mapped{f, m, info.Size}, nil
}

// ReadAt is io.ReaderAt's.
func (f *mapped) ReadAt(p []byte, off int64) (int, error) {
	if off >= 0 && off <= f.n-int64(len(p)) {
		return f.m.ReadAt(p, off)
	}
	return f.File.ReadAt(p, off)
}

// Close closes mapping and file.
func (f *mapped) Close() error { return errors.Join(f.m.Close(), f.File.Close()) }

// openSource opens a file to be read, mapped if so asked for.
func openSource(ctx context.Context, fs storage.FS, name string, o Options) (source, error) {
	f, err := fs.Open(ctx, name, storage.OpenRead)
	if err != nil || !o.Map {
		return f, err
	}
	return mapFile(f, name)
}

// window is where the bytes of a stored chunk are in a mapping; ok is false
// where they are in none.
func (v *view) window(at, room int64) (m viewer, from, to int64, ok bool) {
	file := v.file
	if k, kept := file.(keep); kept {
		file = k.source
	}
	f, isMapped := file.(*mapped)
	if !isMapped || v.Sparse {
		return nil, 0, 0, false
	}
	m, ok = f.m.(viewer)
	from = v.where.off + v.HeaderLen + at
	to = min(from+room, f.n)
	return m, from, to, ok && from < to
}
