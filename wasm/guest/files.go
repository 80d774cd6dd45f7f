//go:build wasip1

package main

import (
	"github.com/gridhold/gridhold/wasm/guest/internal/engine"
)

//go:wasmimport gridhold open
func hostOpen(token, path, stat uint32) int32

//go:wasmimport gridhold stat
func hostStat(token, path, stat uint32) int32

//go:wasmimport gridhold rename
func hostRename(token, path uint32) int32

//go:wasmimport gridhold remove
func hostRemove(token, path uint32) int32

//go:wasmimport gridhold mkdir
func hostMkdir(token, path uint32) int32

//go:wasmimport gridhold list_dir
func hostListDir(token, path, stat uint32) int32

//go:wasmimport gridhold sync_dir
func hostSyncDir(token, path uint32) int32

//go:wasmimport gridhold statfs
func hostStatFS(token, path, stat uint32) int32

//go:wasmimport gridhold stat_file
func hostStatFile(token, file, stat uint32) int32

//go:wasmimport gridhold read_at
func hostReadAt(token, file, offLo, offHi, buf, n uint32) int32

//go:wasmimport gridhold write_at
func hostWriteAt(token, file, offLo, offHi, buf, n uint32) int32

//go:wasmimport gridhold truncate
func hostTruncate(token, file, sizeLo, sizeHi uint32) int32

//go:wasmimport gridhold sync
func hostSync(token, file uint32) int32

//go:wasmimport gridhold close
func hostClose(token, file uint32) int32

//go:wasmimport gridhold allocate
func hostAllocate(token, file, offLo, offHi, nLo, nHi uint32) int32

//go:wasmimport gridhold punch
func hostPunch(token, file, offLo, offHi, nLo, nHi uint32) int32

//go:wasmimport gridhold lock_range
func hostLockRange(token, file, offLo, offHi, mode uint32) int32

//go:wasmimport gridhold copy
func hostCopy(token, req, stat uint32) int32

//go:wasmimport gridhold lock
func hostLock(token, req, stat uint32) int32

//go:wasmimport gridhold unlock
func hostUnlock(token, lock uint32) int32

// path fills in the addresses of a call.
func path(c *engine.PathCall) (req, stat uint32) {
	w := &c.Wire
	w.FS, w.Flags = c.FS, c.Flags
	w.Name, w.NameLen = slice(c.Name), uint32(len(c.Name))
	w.To, w.ToLen = slice(c.To), uint32(len(c.To))
	w.Buf, w.Cap = slice(c.Buf), uint32(len(c.Buf))
	return address(w), address(&c.Stat)
}

func (imports) Open(token uint32, c *engine.PathCall) int32 {
	req, stat := path(c)
	return hostOpen(token, req, stat)
}

func (imports) Stat(token uint32, c *engine.PathCall) int32 {
	req, stat := path(c)
	return hostStat(token, req, stat)
}

func (imports) Rename(token uint32, c *engine.PathCall) int32 {
	req, _ := path(c)
	return hostRename(token, req)
}

func (imports) Remove(token uint32, c *engine.PathCall) int32 {
	req, _ := path(c)
	return hostRemove(token, req)
}

func (imports) Mkdir(token uint32, c *engine.PathCall) int32 {
	req, _ := path(c)
	return hostMkdir(token, req)
}

func (imports) ListDir(token uint32, c *engine.PathCall) int32 {
	req, stat := path(c)
	return hostListDir(token, req, stat)
}

func (imports) SyncDir(token uint32, c *engine.PathCall) int32 {
	req, _ := path(c)
	return hostSyncDir(token, req)
}

func (imports) StatFS(token uint32, c *engine.PathCall) int32 {
	req, stat := path(c)
	return hostStatFS(token, req, stat)
}

func (imports) StatFile(token, file uint32, c *engine.PathCall) int32 {
	return hostStatFile(token, file, address(&c.Stat))
}

func (imports) ReadAt(token, file uint32, off int64, b []byte) int32 {
	return hostReadAt(token, file, uint32(off), uint32(off>>32), slice(b), uint32(len(b)))
}

func (imports) WriteAt(token, file uint32, off int64, b []byte) int32 {
	return hostWriteAt(token, file, uint32(off), uint32(off>>32), slice(b), uint32(len(b)))
}

func (imports) Truncate(token, file uint32, size int64) int32 {
	return hostTruncate(token, file, uint32(size), uint32(size>>32))
}

func (imports) Sync(token, file uint32) int32 { return hostSync(token, file) }

func (imports) Close(token, file uint32) int32 { return hostClose(token, file) }

func (imports) Allocate(token, file uint32, off, n int64) int32 {
	return hostAllocate(token, file, uint32(off), uint32(off>>32), uint32(n), uint32(n>>32))
}

func (imports) Punch(token, file uint32, off, n int64) int32 {
	return hostPunch(token, file, uint32(off), uint32(off>>32), uint32(n), uint32(n>>32))
}

func (imports) LockRange(token, file uint32, off int64, mode uint32) int32 {
	return hostLockRange(token, file, uint32(off), uint32(off>>32), mode)
}

func (imports) Copy(token uint32, c *engine.CopyCall) int32 {
	return hostCopy(token, address(&c.Wire), address(&c.Stat))
}

func (imports) Lock(token uint32, c *engine.LockCall) int32 {
	c.Wire.Name, c.Wire.NameLen = slice(c.Name), uint32(len(c.Name))
	return hostLock(token, address(&c.Wire), address(&c.Stat))
}

func (imports) Unlock(token, lock uint32) int32 { return hostUnlock(token, lock) }
