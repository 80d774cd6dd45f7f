package blosc2

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// OpenObject opens the container under a key of a store, for reading: an
// object that is a frame or a zip; or a sparse frame or a store, whose files
// are objects below the key. A server of files will do: only those objects are
// asked for that are needed, by their names. What no server tells without a
// list is which keys there are of a DictStore in a directory: that takes a
// storage.Lister, and is ErrUnsupported without; Get does not. Errors are
// otherwise those of Open. Closing the container leaves the store open.
func OpenObject(ctx context.Context, s storage.Store, key string, o Options) (Container, error) {
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	if o.Write || o.Locking == Locked || o.Map {
		return nil, fault.New(fault.ErrInvalid, "blosc2", key, "objects are only read")
	}
	o.Locking = Unlocked
	c, err := OpenFile(ctx, storage.FileOf(ctx, s, key), key, o)
	switch fault.CodeOf(err) {
	case fault.CodeNotFound, fault.CodeCorrupt, fault.CodeNotAllowed: // or the page that lists a directory
		d, dirErr := openDirectory(ctx, &objects{s}, key, o)
		if dirErr == nil {
			return d, nil
		}
		if !errors.Is(dirErr, fault.ErrInvalid) && !errors.Is(dirErr, fault.ErrNotFound) {
			return nil, dirErr
		}
	}
	return c, err
}

// objects are those of a store as files that are only read.
type objects struct{ s storage.Store }

// firstBytes is how much of a chunk's file the first request asks for.
const firstBytes = 64 << 10

// Open opens an object. A chunk's file is asked for at once, because little
// will be read of it but all at once: most take one request.
func (o *objects) Open(ctx context.Context, name string, flags storage.OpenFlag) (storage.File, error) {
	if flags != storage.OpenRead {
		return nil, storage.ReadOnly(name)
	}
	f := storage.FileOf(ctx, o.s, name)
	if path.Ext(name) != chunkSuffix {
		return f, nil
	}
	b, info, err := o.s.ReadRanges(ctx, name, []storage.Range{{Off: 0, Len: firstBytes}}, "")
	if err != nil {
		return nil, err
	}
	return &object{f, slices.Clip(b[0]), info.Size}, nil
}

// Stat asks for an object; of a directory nothing is known.
func (o *objects) Stat(ctx context.Context, name string) (storage.FileInfo, error) {
	return storage.FileOf(ctx, o.s, name).Stat()
}

// List returns what the store lists.
func (o *objects) List(ctx context.Context, name string) ([]string, error) {
	l, ok := o.s.(storage.Lister)
	if !ok {
		return nil, fault.New(fault.ErrUnsupported, "blosc2", name, "the keys of a store in a directory: nobody lists it")
	}
	if name != "" {
		name += "/"
	}
	return l.List(ctx, name)
}

// StatFS knows nothing.
func (o *objects) StatFS(context.Context, string) (storage.FSInfo, error) {
	return storage.FSInfo{Network: true, Free: -1}, nil
}

func (o *objects) Rename(_ context.Context, from, _ string) error { return storage.ReadOnly(from) }
func (o *objects) RenameNoReplace(_ context.Context, from, _ string) error {
	return storage.ReadOnly(from)
}
func (o *objects) Remove(_ context.Context, name string) error  { return storage.ReadOnly(name) }
func (o *objects) Mkdir(_ context.Context, name string) error   { return storage.ReadOnly(name) }
func (o *objects) SyncDir(_ context.Context, name string) error { return storage.ReadOnly(name) }

// object is one whose first bytes are here.
type object struct {
	storage.File
	first []byte
	size  int64 // -1: unknown
}

func (o *object) ReadAt(p []byte, off int64) (int, error) {
	n := int64(len(o.first))
	if off < 0 || off+int64(len(p)) > n && n == firstBytes {
		return o.File.ReadAt(p, off)
	}
	if off >= n {
		return 0, io.EOF
	}
	k := copy(p, o.first[off:])
	if k < len(p) {
		return k, io.EOF
	}
	return k, nil
}

func (o *object) Stat() (storage.FileInfo, error) {
	switch {
	case len(o.first) < firstBytes:
		return storage.FileInfo{Size: int64(len(o.first)), Links: 1}, nil
	case o.size >= 0:
		return storage.FileInfo{Size: o.size, Links: 1}, nil
	}
	return o.File.Stat()
}
