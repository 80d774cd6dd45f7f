//go:build linux || darwin

package file

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/gridhold/gridhold/sdk/storage"
)

// Locks of open file descriptions: they belong to the open file, not to the
// process, and the kernel frees them when it goes.
func lockRange(fd uintptr, off int64, m storage.LockMode) (held bool, err error) {
	kind := int16(unix.F_RDLCK)
	if m == storage.LockExclusive {
		kind = unix.F_WRLCK
	}
	err = setLock(fd, off, kind)
	if err == unix.EAGAIN || err == unix.EACCES {
		return false, nil
	}
	if err == unix.EINVAL {
		err = errors.ErrUnsupported // a kernel that does not know them
	}
	return err == nil, err
}

func unlockRange(fd uintptr, off int64) error { return setLock(fd, off, unix.F_UNLCK) }

func setLock(fd uintptr, off int64, kind int16) error {
	return retry(func() error {
		return unix.FcntlFlock(fd, setOFDLock, &unix.Flock_t{Type: kind, Start: off, Len: 1})
	})
}
