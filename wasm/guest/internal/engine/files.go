package engine

import "github.com/gridhold/gridhold/wasm/wire"

// Files is the imports that are about files: one to one with the methods of
// [storage.FS] and [storage.File]. Files have numbers that the host gave in
// Stat.ID of open.
type Files interface {
	Open(token uint32, c *PathCall) int32
	Stat(token uint32, c *PathCall) int32
	Rename(token uint32, c *PathCall) int32
	Remove(token uint32, c *PathCall) int32
	Mkdir(token uint32, c *PathCall) int32
	ListDir(token uint32, c *PathCall) int32
	SyncDir(token uint32, c *PathCall) int32
	StatFS(token uint32, c *PathCall) int32

	StatFile(token, file uint32, c *PathCall) int32
	ReadAt(token, file uint32, off int64, b []byte) int32
	WriteAt(token, file uint32, off int64, b []byte) int32
	Truncate(token, file uint32, size int64) int32
	Sync(token, file uint32) int32
	Close(token, file uint32) int32
	Allocate(token, file uint32, off, n int64) int32
	Punch(token, file uint32, off, n int64) int32
	LockRange(token, file uint32, off int64, mode uint32) int32
	Copy(token uint32, c *CopyCall) int32

	Lock(token uint32, c *LockCall) int32
	Unlock(token, lock uint32) int32
}

// PathCall is the imports that name files, and stat_file.
type PathCall struct {
	FS, Flags uint32
	Name, To  []byte
	Buf       []byte
	Stat      wire.Stat
	Wire      wire.Path // scratch of the skin
}

// CopyCall is the import copy. The host writes Stat.Size, what was copied,
// and Stat.ID, its CRC-32C.
type CopyCall struct {
	Wire wire.Copy
	Stat wire.Stat
}

// LockCall is the import lock. The host writes Stat.ID, the lock's number.
type LockCall struct {
	Name []byte
	Wire wire.Lock
	Stat wire.Stat
}
