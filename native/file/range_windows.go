package file

import (
	"golang.org/x/sys/windows"

	"github.com/gridhold/gridhold/sdk/storage"
)

// Locks of Windows belong to the handle, and go with it.
func lockRange(fd uintptr, off int64, m storage.LockMode) (held bool, err error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if m == storage.LockExclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err = windows.LockFileEx(windows.Handle(fd), flags, 0, 1, 0, at(off))
	if err == windows.ERROR_LOCK_VIOLATION || err == windows.ERROR_IO_PENDING {
		return false, nil
	}
	return err == nil, err
}

func unlockRange(fd uintptr, off int64) error {
	return windows.UnlockFileEx(windows.Handle(fd), 0, 1, 0, at(off))
}

func at(off int64) *windows.Overlapped {
	return &windows.Overlapped{Offset: uint32(off), OffsetHigh: uint32(off >> 32)}
}
