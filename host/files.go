package host

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// systems numbers the file systems that the guest may use: what is in none of
// them, it cannot name. One has one number while something is open in it.
type systems struct {
	mu   sync.RWMutex
	byID map[uint32]*sharedSystem
	last uint32
}

type sharedSystem struct {
	storage.FS
	users int
}

func (s *systems) get(id uint32) storage.FS {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if fs := s.byID[id]; fs != nil {
		return fs.FS
	}
	return nil
}

func (s *systems) add(fs storage.FS) (id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, known := range s.byID {
		if identical(known.FS, fs) {
			known.users++
			return id
		}
	}
	if s.byID == nil {
		s.byID = map[uint32]*sharedSystem{}
	}
	for s.last++; s.last == 0 || s.byID[s.last] != nil; s.last++ {
	}
	s.byID[s.last] = &sharedSystem{fs, 1}
	return s.last
}

func (s *systems) remove(id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fs := s.byID[id]; fs != nil {
		if fs.users--; fs.users == 0 {
			delete(s.byID, id)
		}
	}
}

// openFiles are the files that one instance has open, and the bytes that it
// has locked in them. They end with it.
type openFiles struct {
	byID  map[uint32]*openFile
	locks map[uint32]func() error
	last  uint32
}

type openFile struct {
	storage.File
	locks map[int64]func() error
}

func (o *openFiles) add(f storage.File) uint32 {
	if o.byID == nil {
		o.byID = map[uint32]*openFile{}
	}
	for o.last++; o.last == 0 || o.byID[o.last] != nil; o.last++ {
	}
	o.byID[o.last] = &openFile{File: f}
	return o.last
}

func (o *openFiles) close() {
	for _, unlock := range o.locks {
		_ = unlock()
	}
	for _, f := range o.byID {
		_ = f.Close()
	}
	clear(o.byID)
	clear(o.locks)
}

const (
	pathSize = 32
	copySize = 32
	statSize = 64
)

// pathCall is one import about a name.
type pathCall struct {
	ctx   context.Context
	in    *instance
	fs    storage.FS
	flags uint32
	name  string
	to    string
	buf   []byte
	stat  []byte // nil: the import has none
}

// onPath makes an import of f.
func onPath(withStat bool, f func(p *pathCall) (int32, error)) imported {
	return func(c *callContext, args []uint64) (int32, error) {
		in := c.in
		req, err := in.window(args[1], pathSize)
		if err != nil {
			return 0, err
		}
		// Quick, and what tidies up after a call that was cancelled.
		p := &pathCall{ctx: context.WithoutCancel(c.Context), in: in, fs: in.sandbox.systems.get(u32(req, 0)), flags: u32(req, 4)}
		if p.fs == nil {
			return 0, fault.New(fault.ErrInvalid, "file", "", "there is no file system of this number")
		}
		name, err := in.window(u64(req, 8), u64(req, 12))
		if err != nil {
			return 0, err
		}
		to, err := in.window(u64(req, 16), u64(req, 20))
		if err != nil {
			return 0, err
		}
		p.name, p.to = string(name), string(to)
		if p.buf, err = in.window(u64(req, 24), u64(req, 28)); err != nil {
			return 0, err
		}
		if withStat {
			if p.stat, err = in.window(args[2], statSize); err != nil {
				return 0, err
			}
		}
		return f(p)
	}
}

func openPath(p *pathCall) (int32, error) {
	f, err := p.fs.Open(p.ctx, p.name, storage.OpenFlag(p.flags))
	if err != nil {
		return 0, err
	}
	binary.LittleEndian.PutUint32(p.stat[60:], p.in.files.add(f))
	return 0, nil
}

func statPath(p *pathCall) (int32, error) {
	info, err := p.fs.Stat(p.ctx, p.name)
	putStat(p.stat, info)
	return 0, err
}

func renamePath(p *pathCall) (int32, error) {
	if p.flags&wire.RenameNoReplace != 0 {
		return 0, p.fs.RenameNoReplace(p.ctx, p.name, p.to)
	}
	return 0, p.fs.Rename(p.ctx, p.name, p.to)
}

func removePath(p *pathCall) (int32, error)  { return 0, p.fs.Remove(p.ctx, p.name) }
func mkdirPath(p *pathCall) (int32, error)   { return 0, p.fs.Mkdir(p.ctx, p.name) }
func syncDirPath(p *pathCall) (int32, error) { return 0, p.fs.SyncDir(p.ctx, p.name) }

func listDirPath(p *pathCall) (int32, error) {
	names, err := p.fs.List(p.ctx, p.name)
	if err == nil {
		err = p.in.ctx.read(sizeOf(names))
	}
	if err != nil {
		return 0, err
	}
	return putNames(p.buf, p.stat, 0, names), nil
}

func statFSPath(p *pathCall) (int32, error) {
	info, err := p.fs.StatFS(p.ctx, p.name)
	if err != nil {
		return 0, err
	}
	binary.LittleEndian.PutUint64(p.stat, uint64(info.Free))
	kind := uint32(0)
	if info.Network {
		kind = wire.StatNetwork
	}
	binary.LittleEndian.PutUint32(p.stat[56:], kind)
	return int32(copy(p.buf, info.Kind)), nil
}

// putStat fills in gh_stat for a file or directory.
func putStat(b []byte, info storage.FileInfo) {
	le := binary.LittleEndian
	numbers := []int64{
		info.Size, nanoseconds(info.ModTime), nanoseconds(info.ChangeTime), info.Allocated,
		int64(info.Dev), int64(info.Ino), int64(info.Links),
	}
	for i, v := range numbers {
		le.PutUint64(b[8*i:], uint64(v))
	}
	kind := uint32(wire.StatFile)
	if info.Dir {
		kind = wire.StatDirectory
	}
	le.PutUint32(b[56:], kind)
}

// nanoseconds is 0 for a time that is not known.
func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// onFile makes an import of f, whose second argument is an open file.
func onFile(f func(c *callContext, file *openFile, args []uint64) (int32, error)) imported {
	return func(c *callContext, args []uint64) (int32, error) {
		file := c.in.files.byID[uint32(args[1])]
		if file == nil {
			return 0, fault.New(fault.ErrClosed, "file", "", "is not open")
		}
		return f(c, file, args)
	}
}

// offset puts two halves together.
func offset(lo, hi uint64) int64 { return int64(uint64(uint32(hi))<<32 | uint64(uint32(lo))) }

func statFile(c *callContext, f *openFile, args []uint64) (int32, error) {
	b, err := c.in.window(args[2], statSize)
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	putStat(b, info)
	return 0, err
}

func readAt(c *callContext, f *openFile, args []uint64) (int32, error) {
	b, err := c.in.window(args[4], args[5])
	if err != nil {
		return 0, err
	}
	if c.Err() != nil { // files know no context
		return int32(fault.CodeCancelled), nil
	}
	n, err := f.ReadAt(b, offset(args[2], args[3]))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil {
		err = c.read(int64(n))
	}
	return int32(n), err
}

func writeAt(c *callContext, f *openFile, args []uint64) (int32, error) {
	b, err := c.in.window(args[4], args[5])
	if err != nil {
		return 0, err
	}
	if c.Err() != nil {
		return int32(fault.CodeCancelled), nil
	}
	n, err := f.WriteAt(b, offset(args[2], args[3]))
	c.spent.Written += int64(n)
	return int32(n), err
}

func truncate(_ *callContext, f *openFile, args []uint64) (int32, error) {
	return 0, f.Truncate(offset(args[2], args[3]))
}

func syncFile(_ *callContext, f *openFile, _ []uint64) (int32, error) { return 0, f.Sync() }

// closeFile is carried out for a call that was cancelled, too.
func closeFile(c *callContext, args []uint64) (int32, error) {
	id := uint32(args[1])
	f := c.in.files.byID[id]
	if f == nil {
		return 0, fault.New(fault.ErrClosed, "file", "", "is not open")
	}
	delete(c.in.files.byID, id)
	return 0, f.Close()
}

func allocateFile(_ *callContext, f *openFile, args []uint64) (int32, error) {
	return 0, f.Allocate(offset(args[2], args[3]), offset(args[4], args[5]))
}

func punchFile(_ *callContext, f *openFile, args []uint64) (int32, error) {
	return 0, f.PunchHole(offset(args[2], args[3]), offset(args[4], args[5]))
}

func lockRange(_ *callContext, f *openFile, args []uint64) (int32, error) {
	off, mode := offset(args[2], args[3]), uint32(args[4])
	if mode == wire.RangeUnlock {
		unlock := f.locks[off]
		if unlock == nil {
			return 0, fault.At(fault.ErrClosed, "file", "", off, "is not locked")
		}
		delete(f.locks, off)
		return 0, unlock()
	}
	unlock, err := f.LockRange(off, storage.LockMode(mode))
	if err != nil {
		return 0, err
	}
	if f.locks == nil {
		f.locks = map[int64]func() error{}
	}
	f.locks[off] = unlock
	return 0, nil
}

func copyFile(c *callContext, args []uint64) (int32, error) {
	req, err := c.in.window(args[1], copySize)
	if err != nil {
		return 0, err
	}
	stat, err := c.in.window(args[2], statSize)
	if err != nil {
		return 0, err
	}
	dst, src := c.in.files.byID[u32(req, 24)], c.in.files.byID[u32(req, 28)]
	if dst == nil || src == nil {
		return 0, fault.New(fault.ErrClosed, "file", "", "is not open")
	}
	n, crc, err := dst.CopyRange(i64(req, 0), src.File, i64(req, 8), i64(req, 16))
	c.spent.Written += n
	if err == nil {
		err = c.read(n)
	}
	binary.LittleEndian.PutUint64(stat, uint64(n))
	binary.LittleEndian.PutUint32(stat[60:], crc)
	return 0, err
}
