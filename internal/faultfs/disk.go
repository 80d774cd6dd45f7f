package faultfs

import (
	"context"
	"path"
	"sync"

	"github.com/gridhold/gridhold/sdk/storage"
)

// Disk is a file system in memory that remembers in which order it was
// changed, and what of that was synced: Cut gives what a power cut leaves. A
// file is synced by File.Sync, its name by SyncDir of the directory, which is
// as little as POSIX promises. Safe for concurrent use; it is any number of
// processes' at once.
type Disk struct {
	capacity int64
	inner    *storage.MemoryFS
	locker   *storage.MemoryLocker

	mu  sync.Mutex // held over each change, so that the log has their order
	log []change
}

// change is one thing done to a file or a directory, which have the numbers of
// their FileInfo.Ino.
type change struct {
	of     uint64 // the file, or what got, lost or changed its name
	synced bool

	name     *named // nil: the content
	off, end int64  // of data, or of zeros where there is none; end < 0: the file is off long
	data     []byte
}

// named is a change of a name: of is at to now, or nowhere.
type named struct {
	from, to uint64 // directories; 0: none
	toName   string
	dir      bool // of is one
}

// NewDisk returns an empty disk of capacity bytes; 0: 1 GiB.
func NewDisk(capacity int64) *Disk {
	return &Disk{capacity: capacity, inner: storage.NewMemoryFS(capacity), locker: storage.NewMemoryLocker()}
}

// Locker has the locks of the disk's machine.
func (d *Disk) Locker() storage.Locker { return d.locker }

// Open is storage.FS's.
func (d *Disk) Open(ctx context.Context, name string, flags storage.OpenFlag) (storage.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, before := d.inner.Stat(ctx, name)
	f, err := d.inner.Open(ctx, name, flags)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	if before != nil {
		d.note(change{of: info.Ino, name: &named{to: d.ino(path.Dir(name)), toName: path.Base(name)}})
	} else if flags&storage.OpenTruncate != 0 {
		d.note(change{of: info.Ino, end: -1})
	}
	return &diskFile{f, d, info.Ino}, nil
}

// Stat is storage.FS's.
func (d *Disk) Stat(ctx context.Context, name string) (storage.FileInfo, error) {
	return d.inner.Stat(ctx, name)
}

// Rename is storage.FS's.
func (d *Disk) Rename(ctx context.Context, from, to string) error {
	return d.rename(ctx, from, to, d.inner.Rename)
}

// RenameNoReplace is storage.FS's.
func (d *Disk) RenameNoReplace(ctx context.Context, from, to string) error {
	return d.rename(ctx, from, to, d.inner.RenameNoReplace)
}

func (d *Disk) rename(ctx context.Context, from, to string, do func(ctx context.Context, from, to string) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	info, _ := d.inner.Stat(ctx, from)
	if err := do(ctx, from, to); err != nil {
		return err
	}
	d.note(change{of: info.Ino, name: &named{d.ino(path.Dir(from)), d.ino(path.Dir(to)), path.Base(to), info.Dir}})
	return nil
}

// Remove is storage.FS's.
func (d *Disk) Remove(ctx context.Context, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	info, _ := d.inner.Stat(ctx, name)
	if err := d.inner.Remove(ctx, name); err != nil {
		return err
	}
	d.note(change{of: info.Ino, name: &named{from: d.ino(path.Dir(name)), dir: info.Dir}})
	return nil
}

// Mkdir is storage.FS's.
func (d *Disk) Mkdir(ctx context.Context, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.inner.Mkdir(ctx, name); err != nil {
		return err
	}
	d.note(change{of: d.ino(name), name: &named{to: d.ino(path.Dir(name)), toName: path.Base(name), dir: true}})
	return nil
}

// List is storage.FS's.
func (d *Disk) List(ctx context.Context, name string) ([]string, error) {
	return d.inner.List(ctx, name)
}

// SyncDir is storage.FS's.
func (d *Disk) SyncDir(ctx context.Context, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.inner.SyncDir(ctx, name); err != nil {
		return err
	}
	dir := d.ino(name)
	for i := range d.log {
		if n := d.log[i].name; n != nil && (n.from == dir || n.to == dir) {
			d.log[i].synced = true
		}
	}
	return nil
}

// StatFS is storage.FS's.
func (d *Disk) StatFS(ctx context.Context, name string) (storage.FSInfo, error) {
	return d.inner.StatFS(ctx, name)
}

// SyncAll makes all that there is outlast a power cut.
func (d *Disk) SyncAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.log {
		d.log[i].synced = true
	}
}

// note adds a change. It needs the lock.
func (d *Disk) note(c change) { d.log = append(d.log, c) }

// ino is the number of a directory that is there; "." and "" are the root.
func (d *Disk) ino(name string) uint64 {
	if name == "." {
		name = ""
	}
	info, err := d.inner.Stat(context.Background(), name)
	if err != nil {
		panic("faultfs: " + err.Error())
	}
	return info.Ino
}
