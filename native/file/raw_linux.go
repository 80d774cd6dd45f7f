//go:build amd64 || arm64

package file

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gridhold/gridhold/sdk/storage"
)

// Calls that a local file system answers from memory need not be told to the
// scheduler, which costs a third of one. A file of a network, or of a process
// that may be this one, can let them wait: it is not asked this way.
const rawCalls = true

// rawLock is flock without waiting.
func rawLock(fd uintptr, exclusive bool) (held bool, err error) {
	how := uintptr(unix.LOCK_SH | unix.LOCK_NB)
	if exclusive {
		how = unix.LOCK_EX | unix.LOCK_NB
	}
	switch err := rawFlock(fd, how); err {
	case 0:
		return true, nil
	case unix.EWOULDBLOCK:
		return false, nil
	default:
		return false, err
	}
}

func rawUnlock(fd uintptr) error {
	if err := rawFlock(fd, unix.LOCK_UN); err != 0 {
		return err
	}
	return nil
}

func rawFlock(fd, how uintptr) syscall.Errno {
	for {
		if _, _, err := syscall.RawSyscall(unix.SYS_FLOCK, fd, how, 0); err != unix.EINTR {
			return err
		}
	}
}

// rawLinks is how many names an open file has.
func rawLinks(fd uintptr) (links uint64, ok bool) {
	var st unix.Stat_t
	_, _, err := syscall.RawSyscall(unix.SYS_FSTAT, fd, uintptr(unsafe.Pointer(&st)), 0)
	return uint64(st.Nlink), err == 0
}

// rawStat is statOpen; where it is false, that says why.
func rawStat(fd uintptr, info *storage.FileInfo) bool {
	var st unix.Stat_t
	if _, _, err := syscall.RawSyscall(unix.SYS_FSTAT, fd, uintptr(unsafe.Pointer(&st)), 0); err != 0 {
		return false
	}
	described(&st, info)
	return true
}
