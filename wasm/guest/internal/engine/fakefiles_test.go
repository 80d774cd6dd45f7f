package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// fakeFiles are the file systems of a fake, and what is open of them.
type fakeFiles struct {
	systems map[uint32]storage.FS
	open    map[uint32]storage.File
	last    uint32
	ranges  map[[2]int64]func() error // by file and offset
	locks   map[uint32]func() error
	locker  storage.Locker
}

func (f *fake) path(name string, token uint32, c *PathCall, do func(ctx context.Context, fs storage.FS, name string) (int32, error)) int32 {
	return f.answer(name, token, func() (int32, error) {
		fs := f.files.systems[c.FS]
		if fs == nil {
			return 0, fault.New(fault.ErrInvalid, "file", "", "there is no such file system")
		}
		return do(context.Background(), fs, string(c.Name))
	})
}

func (f *fake) onFile(name string, token, id uint32, do func(storage.File) (int32, error)) int32 {
	return f.answer(name, token, func() (int32, error) {
		f.mu.Lock()
		file := f.files.open[id]
		f.mu.Unlock()
		if file == nil {
			return 0, fault.New(fault.ErrClosed, "file", "", "")
		}
		return do(file)
	})
}

func put(i *wire.Stat, info storage.FileInfo) {
	*i = wire.Stat{
		Size: info.Size, MTimeNS: info.ModTime.UnixNano(), Allocated: info.Allocated, Dev: info.Dev, Ino: info.Ino, Links: info.Links, Kind: wire.StatFile,
	}
	if info.Dir {
		i.Kind = wire.StatDirectory
	}
}

func (f *fake) Open(token uint32, c *PathCall) int32 {
	return f.path("open", token, c, func(ctx context.Context, fs storage.FS, name string) (int32, error) {
		file, err := fs.Open(ctx, name, storage.OpenFlag(c.Flags))
		if err != nil {
			return 0, err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.files.last++
		f.files.open[f.files.last] = file
		c.Stat.ID = f.files.last
		return 0, nil
	})
}

func (f *fake) Stat(token uint32, c *PathCall) int32 {
	return f.path("stat", token, c, func(ctx context.Context, fs storage.FS, name string) (int32, error) {
		info, err := fs.Stat(ctx, name)
		put(&c.Stat, info)
		return 0, err
	})
}

func (f *fake) Rename(token uint32, c *PathCall) int32 {
	return f.path("rename", token, c, func(ctx context.Context, fs storage.FS, name string) (int32, error) {
		if c.Flags&wire.RenameNoReplace != 0 {
			return 0, fs.RenameNoReplace(ctx, name, string(c.To))
		}
		return 0, fs.Rename(ctx, name, string(c.To))
	})
}

func (f *fake) Remove(token uint32, c *PathCall) int32 {
	return f.path("remove", token, c, func(ctx context.Context, fs storage.FS, name string) (int32, error) {
		return 0, fs.Remove(ctx, name)
	})
}

func (f *fake) Mkdir(token uint32, c *PathCall) int32 {
	return f.path("mkdir", token, c, func(ctx context.Context, fs storage.FS, name string) (int32, error) {
		return 0, fs.Mkdir(ctx, name)
	})
}

func (f *fake) ListDir(token uint32, c *PathCall) int32 {
	return f.path("list_dir", token, c, func(ctx context.Context, fs storage.FS, name string) (int32, error) {
		names, err := fs.List(ctx, name)
		if err != nil {
			return 0, err
		}
		var b []byte
		for _, n := range names {
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(n))), n...)
		}
		if len(b) > len(c.Buf) {
			c.Stat.Size = int64(len(b))
			return int32(fault.CodeTooSmall), nil
		}
		return int32(copy(c.Buf, b)), nil
	})
}

func (f *fake) SyncDir(token uint32, c *PathCall) int32 {
	return f.path("sync_dir", token, c, func(ctx context.Context, fs storage.FS, name string) (int32, error) {
		return 0, fs.SyncDir(ctx, name)
	})
}

func (f *fake) StatFS(token uint32, c *PathCall) int32 {
	return f.path("statfs", token, c, func(ctx context.Context, fs storage.FS, name string) (int32, error) {
		info, err := fs.StatFS(ctx, name)
		c.Stat.Size = info.Free
		if info.Network {
			c.Stat.Kind = wire.StatNetwork
		}
		return int32(copy(c.Buf, info.Kind)), err
	})
}

func (f *fake) StatFile(token, file uint32, c *PathCall) int32 {
	return f.onFile("stat_file", token, file, func(s storage.File) (int32, error) {
		info, err := s.Stat()
		put(&c.Stat, info)
		return 0, err
	})
}

func (f *fake) ReadAt(token, file uint32, off int64, b []byte) int32 {
	return f.onFile("read_at", token, file, func(s storage.File) (int32, error) {
		n, err := s.ReadAt(b, off)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return int32(n), err
	})
}

func (f *fake) WriteAt(token, file uint32, off int64, b []byte) int32 {
	return f.onFile("write_at", token, file, func(s storage.File) (int32, error) {
		n, err := s.WriteAt(b, off)
		return int32(n), err
	})
}

func (f *fake) Truncate(token, file uint32, size int64) int32 {
	return f.onFile("truncate", token, file, func(s storage.File) (int32, error) { return 0, s.Truncate(size) })
}

func (f *fake) Sync(token, file uint32) int32 {
	return f.onFile("sync", token, file, func(s storage.File) (int32, error) { return 0, s.Sync() })
}

func (f *fake) Close(token, file uint32) int32 {
	return f.onFile("close", token, file, func(s storage.File) (int32, error) {
		f.mu.Lock()
		delete(f.files.open, file)
		f.mu.Unlock()
		return 0, s.Close()
	})
}

func (f *fake) Allocate(token, file uint32, off, n int64) int32 {
	return f.onFile("allocate", token, file, func(s storage.File) (int32, error) { return 0, s.Allocate(off, n) })
}

func (f *fake) Punch(token, file uint32, off, n int64) int32 {
	return f.onFile("punch", token, file, func(s storage.File) (int32, error) { return 0, s.PunchHole(off, n) })
}

func (f *fake) LockRange(token, file uint32, off int64, mode uint32) int32 {
	return f.onFile("lock_range", token, file, func(s storage.File) (int32, error) {
		key := [2]int64{int64(file), off}
		f.mu.Lock()
		unlock := f.files.ranges[key]
		f.mu.Unlock()
		if mode == wire.RangeUnlock {
			f.mu.Lock()
			delete(f.files.ranges, key)
			f.mu.Unlock()
			return 0, unlock()
		}
		unlock, err := s.LockRange(off, storage.LockMode(mode))
		if err == nil {
			f.mu.Lock()
			f.files.ranges[key] = unlock
			f.mu.Unlock()
		}
		return 0, err
	})
}

func (f *fake) Copy(token uint32, c *CopyCall) int32 {
	w := &c.Wire
	return f.onFile("copy", token, w.File, func(dst storage.File) (int32, error) {
		f.mu.Lock()
		src := f.files.open[w.Src]
		f.mu.Unlock()
		n, crc, err := dst.CopyRange(w.Off, src, w.SrcOff, w.N)
		c.Stat.Size, c.Stat.ID = n, crc
		return 0, err
	})
}

func (f *fake) Lock(token uint32, c *LockCall) int32 {
	return f.answer("lock", token, func() (int32, error) {
		unlock, err := f.files.locker.Lock(context.Background(), string(c.Name), storage.Owner(c.Wire.Owner), storage.LockMode(c.Wire.Mode))
		if err != nil {
			return 0, err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.files.last++
		f.files.locks[f.files.last] = unlock
		c.Stat.ID = f.files.last
		return 0, nil
	})
}

func (f *fake) Unlock(token, lock uint32) int32 {
	return f.answer("unlock", token, func() (int32, error) {
		f.mu.Lock()
		unlock := f.files.locks[lock]
		delete(f.files.locks, lock)
		f.mu.Unlock()
		return 0, unlock()
	})
}
