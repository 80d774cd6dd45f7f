package engine

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// fileSystem is a file system of the host's.
type fileSystem struct {
	engine *Engine
	id     uint32
}

// pathImport is one of the imports that name files.
type pathImport func(token uint32, c *PathCall) int32

// call makes a call about a name and gives the answer to use, which must not
// keep c.
func (s fileSystem) call(ctx context.Context, f pathImport, c *PathCall, name string, use func(n int32) error) error {
	if err := storage.Ended(ctx, name); err != nil {
		return err
	}
	w, err := s.engine.take()
	if err != nil {
		return err
	}
	defer s.engine.tokens.put(w)
	c.FS, c.Name = s.id, []byte(name)
	w.rare = c
	n, err := s.engine.settle(ctx, w, f(w.token, c))
	switch {
	case err != nil:
		return storage.Ended(ctx, name)
	case fault.Code(n) == fault.CodeTooSmall:
		return fault.ErrTooSmall
	case n < 0:
		return s.engine.failure(w, n, "file", name)
	}
	return use(n)
}

func done(int32) error { return nil }

// Open implements [storage.FS].
func (s fileSystem) Open(ctx context.Context, name string, flags storage.OpenFlag) (storage.File, error) {
	c := &PathCall{Flags: uint32(flags)}
	var f *file
	err := s.call(ctx, s.engine.host.Open, c, name, func(int32) error {
		f = &file{engine: s.engine, id: c.Stat.ID, fs: s.id, name: name}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Stat implements [storage.FS].
func (s fileSystem) Stat(ctx context.Context, name string) (info storage.FileInfo, err error) {
	c := &PathCall{}
	err = s.call(ctx, s.engine.host.Stat, c, name, func(int32) error {
		info = fileInfo(&c.Stat)
		return nil
	})
	return info, err
}

func fileInfo(i *wire.Stat) storage.FileInfo {
	return storage.FileInfo{
		Size: i.Size, ModTime: time.Unix(0, i.MTimeNS), ChangeTime: moment(i.CTimeNS), Allocated: i.Allocated,
		Dev: i.Dev, Ino: i.Ino, Links: i.Links, Dir: i.Kind == wire.StatDirectory,
	}
}

// moment is a time of which 0 means that it is not known.
func moment(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// Rename implements [storage.FS].
func (s fileSystem) Rename(ctx context.Context, from, to string) error {
	return s.call(ctx, s.engine.host.Rename, &PathCall{To: []byte(to)}, from, done)
}

// RenameNoReplace implements [storage.FS].
func (s fileSystem) RenameNoReplace(ctx context.Context, from, to string) error {
	return s.call(ctx, s.engine.host.Rename, &PathCall{To: []byte(to), Flags: wire.RenameNoReplace}, from, done)
}

// Remove implements [storage.FS].
func (s fileSystem) Remove(ctx context.Context, name string) error {
	return s.call(ctx, s.engine.host.Remove, &PathCall{}, name, done)
}

// Mkdir implements [storage.FS].
func (s fileSystem) Mkdir(ctx context.Context, name string) error {
	return s.call(ctx, s.engine.host.Mkdir, &PathCall{}, name, done)
}

// SyncDir implements [storage.FS].
func (s fileSystem) SyncDir(ctx context.Context, name string) error {
	return s.call(ctx, s.engine.host.SyncDir, &PathCall{}, name, done)
}

// List implements [storage.FS].
func (s fileSystem) List(ctx context.Context, name string) (names []string, err error) {
	room := int64(firstRoom)
	for range 4 {
		c := &PathCall{Buf: make([]byte, room)}
		err = s.call(ctx, s.engine.host.ListDir, c, name, func(n int32) (err error) {
			if int(n) > len(c.Buf) {
				return invalid("file", name, "more bytes than there was room for")
			}
			names, err = unpackNames(c.Buf[:n], "file", name)
			return err
		})
		if fault.CodeOf(err) != fault.CodeTooSmall {
			return names, err
		}
		if c.Stat.Size <= room || c.Stat.Size > s.engine.memory/8 {
			return nil, tooLarge(name)
		}
		room = c.Stat.Size
	}
	return nil, fault.New(fault.ErrIO, "file", name, "grows faster than it can be listed")
}

// unpackNames takes a list apart: u32 length, UTF-8.
func unpackNames(b []byte, format, item string) (names []string, err error) {
	for len(b) > 0 {
		if len(b) < 4 {
			return nil, invalid(format, item, "a list that is cut")
		}
		k := binary.LittleEndian.Uint32(b)
		if b = b[4:]; uint64(k) > uint64(len(b)) {
			return nil, invalid(format, item, "a list that is cut")
		}
		names = append(names, string(b[:k]))
		b = b[k:]
	}
	return names, nil
}

// StatFS implements [storage.FS].
func (s fileSystem) StatFS(ctx context.Context, name string) (info storage.FSInfo, err error) {
	c := &PathCall{Buf: make([]byte, 64)}
	err = s.call(ctx, s.engine.host.StatFS, c, name, func(n int32) error {
		if int(n) > len(c.Buf) {
			return invalid("file", name, "more bytes than there was room for")
		}
		info = storage.FSInfo{Kind: string(c.Buf[:n]), Network: c.Stat.Kind == wire.StatNetwork, Free: c.Stat.Size}
		return nil
	})
	return info, err
}
