package faultfs

import "github.com/gridhold/gridhold/sdk/fault"

// errnos are those that disks, networks and limits give, of the kinds that
// package native/file gives them.
var errnos = map[string]struct {
	kind error
	text string
}{
	"EACCES":    {fault.ErrNotAllowed, "permission denied"},
	"EAGAIN":    {fault.ErrIO, "resource temporarily unavailable"},
	"EDQUOT":    {fault.ErrNoSpace, "disk quota exceeded"},
	"EEXIST":    {fault.ErrExists, "file exists"},
	"EFBIG":     {fault.ErrIO, "file too large"},
	"EINTR":     {fault.ErrIO, "interrupted system call"},
	"EIO":       {fault.ErrIO, "input/output error"},
	"EMFILE":    {fault.ErrIO, "too many open files"},
	"ENFILE":    {fault.ErrIO, "too many open files in system"},
	"ENOENT":    {fault.ErrNotFound, "no such file or directory"},
	"ENOLCK":    {fault.ErrIO, "no locks available"},
	"ENOSPC":    {fault.ErrNoSpace, "no space left on device"},
	"ENOTEMPTY": {fault.ErrExists, "directory not empty"},
	"ENOTSUP":   {fault.ErrUnsupported, "operation not supported"},
	"EPERM":     {fault.ErrNotAllowed, "operation not permitted"},
	"EROFS":     {fault.ErrReadOnly, "read-only file system"},
	"ESTALE":    {fault.ErrIO, "stale file handle"},
	"ETIMEDOUT": {fault.ErrIO, "connection timed out"},
}

// Errno returns the error of that name ("ENOSPC") as an adapter of the
// operating system reports it. It panics if it knows none.
func Errno(name string) error {
	e, ok := errnos[name]
	if !ok {
		panic("faultfs: no errno " + name)
	}
	return fault.New(e.kind, "file", "", name+": "+e.text)
}
