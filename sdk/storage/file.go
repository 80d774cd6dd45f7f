package storage

import (
	"context"
	"io"
	"time"
)

// File is one mutable object with random access (a container, a scratch).
// Methods may be called at once from several goroutines. Offsets are bytes.
type File interface {
	io.ReaderAt // short only at the end of the file, then with io.EOF
	io.WriterAt // all or an error; grows the file
	io.Closer   // later calls give ErrClosed; closing twice is fine
	Truncate(size int64) error
	Sync() error
	Stat() (FileInfo, error)
	// Allocate reserves [off, off+n) so that later writes there cannot fail
	// for lack of space; it grows the file. ErrUnsupported where the file
	// system cannot.
	Allocate(off, n int64) error
	// PunchHole gives [off, off+n) back to the file system; it reads as
	// zeros. ErrUnsupported where the file system cannot.
	PunchHole(off, n int64) error
	// CopyRange copies n bytes from src at srcOff to off, on the host's side
	// where src is of the same kind, and returns how many were copied and
	// the CRC-32C of them. Fewer than n only where src ends.
	CopyRange(off int64, src File, srcOff, n int64) (copied int64, crc uint32, err error)
	// LockRange takes the one byte at off, without waiting, for this open
	// file; freed by unlock and by the end of the process. ErrLocked if
	// another open file has it in a conflicting mode.
	LockRange(off int64, m LockMode) (unlock func() error, err error)
}

// Mapper is an optional power of a File: it can be read as memory.
type Mapper interface {
	// Map maps the file as long as it is now. The mapping outlives the
	// file's closing. ErrUnsupported where there are no mappings.
	Map() (Mapping, error)
}

// Mapping is a window on a file that others may change. Safe for concurrent
// use.
type Mapping interface {
	io.ReaderAt // ErrIO for what is not there any more
	// ReadBetween reads len(p) bytes at off, all of them within the mapping,
	// between two looks at the 8-byte words at the offsets of words, which
	// are multiples of 8: before is what they were when the first byte was
	// read, after what they were when the last one had been.
	ReadBetween(p []byte, off int64, words [2]int64) (before, after [2]uint64, err error)
	Close() error
}

// FileInfo describes a file.
type FileInfo struct {
	Size    int64
	ModTime time.Time
	// ChangeTime is when the file changed in any way, by the clock of its
	// system, which nobody sets; zero where unknown.
	ChangeTime time.Time
	Allocated  int64 // bytes of the file system that it takes; 0 where unknown
	Dev        uint64
	Ino        uint64 // with Dev: the identity of the file, not of its name
	Links      uint64 // 0: the name is gone
	Dir        bool
}

// OpenFlag says how FS.Open opens; combine with |.
type OpenFlag uint32

// Flags of FS.Open. Read alone refuses a name that is not there.
const (
	OpenRead OpenFlag = 1 << iota
	OpenWrite
	OpenCreate    // make the file where there is none
	OpenExclusive // with OpenCreate: ErrExists where there is one
	OpenTruncate
)

// FS holds files under slash-separated names relative to its root. No name
// leads out of the root.
type FS interface {
	Open(ctx context.Context, name string, flags OpenFlag) (File, error)
	Stat(ctx context.Context, name string) (FileInfo, error)
	// Rename replaces to in one step, unless it is a directory: ErrExists.
	// RenameNoReplace gives that where there is anything. A name that is a
	// link stands for what it leads to, as it does for Open.
	Rename(ctx context.Context, from, to string) error
	RenameNoReplace(ctx context.Context, from, to string) error
	Remove(ctx context.Context, name string) error // a file or an empty directory
	Mkdir(ctx context.Context, name string) error
	List(ctx context.Context, name string) ([]string, error) // sorted; directories end in "/"
	SyncDir(ctx context.Context, name string) error
	StatFS(ctx context.Context, name string) (FSInfo, error)
}

// FSInfo describes a file system.
type FSInfo struct {
	Kind    string // "ext4", "tmpfs", "nfs", … or "" where unknown
	Network bool   // locks may not hold between machines
	Free    int64  // bytes this user may still write; -1 unknown
}

// LockMode is shared or exclusive.
type LockMode uint8

// The modes of a lock.
const (
	LockShared LockMode = iota + 1
	LockExclusive
)

// Owner tells holders of a lock apart within one process: two handles of one
// file exclude each other as two processes do.
type Owner uint64

// Locker locks by name. One per host process.
type Locker interface {
	// Lock waits until the lock is held or ctx ends (ErrLockTimeout after a
	// deadline, ErrCancelled otherwise). unlock may be called once.
	Lock(ctx context.Context, name string, owner Owner, m LockMode) (unlock func() error, err error)
}

// Clock is the only source of time and of waiting in the core.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or earlier with the context's error.
	Sleep(ctx context.Context, d time.Duration) error
}
