package file

import (
	"os"

	"golang.org/x/sys/windows"
)

// flock locks the first byte of the file, as the C library does, waiting for
// it or not. Locks of Windows keep others from reading what they cover, so
// what holders tell each other lies behind it.
func flock(f *os.File, exclusive, wait bool) (held bool, err error) {
	flags := uint32(0)
	if !wait {
		flags |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
	if err == windows.ERROR_LOCK_VIOLATION || err == windows.ERROR_IO_PENDING {
		return false, nil
	}
	return err == nil, err
}

func unflock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{})
}
