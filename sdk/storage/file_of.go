package storage

import (
	"context"
	"io"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// FileOf returns an object of a store as a File that can only be read. It
// pins no version: each ReadAt gives the object as it is then, so that one
// that grows can be followed; who needs several reads to agree checks by the
// means of the format. Stat asks the store each time and knows no identity.
//
// Writing is ErrReadOnly, locking ErrUnsupported. ctx is that of every read;
// its end ends them.
func FileOf(ctx context.Context, s Store, key string) File {
	return &objectFile{ctx: ctx, store: s, key: key}
}

// objectFile keeps a context because io.ReaderAt has no room for one.
type objectFile struct {
	ctx   context.Context
	store Store
	key   string
	shut  shut
}

func (f *objectFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.shut.check(f.key); err != nil {
		return 0, err
	}
	n, _, err := ReadInto(f.ctx, f.store, f.key, off, p, "")
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (f *objectFile) Stat() (FileInfo, error) {
	if err := f.shut.check(f.key); err != nil {
		return FileInfo{}, err
	}
	_, info, err := f.store.ReadRanges(f.ctx, f.key, nil, "")
	if err == nil && info.Size < 0 {
		err = fault.New(fault.ErrUnsupported, "file", f.key, "the store does not tell its size")
	}
	return FileInfo{Size: info.Size, Links: 1}, err
}

func (f *objectFile) Sync() error { return f.shut.check(f.key) }

func (f *objectFile) Close() error {
	f.shut.set()
	return nil
}

func (f *objectFile) WriteAt([]byte, int64) (int, error) { return 0, f.readOnly() }
func (f *objectFile) Truncate(int64) error               { return f.readOnly() }
func (f *objectFile) Allocate(int64, int64) error        { return f.readOnly() }
func (f *objectFile) PunchHole(int64, int64) error       { return f.readOnly() }

func (f *objectFile) CopyRange(int64, File, int64, int64) (int64, uint32, error) {
	return 0, 0, f.readOnly()
}

func (f *objectFile) LockRange(off int64, _ LockMode) (func() error, error) {
	if err := f.shut.check(f.key); err != nil {
		return nil, err
	}
	return nil, fault.At(fault.ErrUnsupported, "file", f.key, off, "objects have no locks")
}

func (f *objectFile) readOnly() error {
	if err := f.shut.check(f.key); err != nil {
		return err
	}
	return ReadOnly(f.key)
}

// ReadOnly returns the ErrReadOnly of a file that was not opened to be
// written to.
func ReadOnly(name string) error {
	return fault.New(fault.ErrReadOnly, "file", name, "not open for writing")
}

// CheckSpan returns ErrInvalid unless [off, off+n) is a part of a file:
// nothing negative, its end within 63 bits.
func CheckSpan(name string, off, n int64) error {
	if off < 0 || n < 0 || off+n < 0 {
		return fault.New(fault.ErrInvalid, "file", name, "not a part of a file: "+
			strconv.FormatInt(off, 10)+"+"+strconv.FormatInt(n, 10))
	}
	return nil
}
