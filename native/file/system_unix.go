//go:build unix

package file

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openRead opens for reading without waiting for anybody: O_NONBLOCK keeps a
// named pipe from holding us until somebody writes to it.
func openRead(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// pread and fstat go to the system directly: os.File takes a lock and
// allocates in Stat. The handle keeps the file open meanwhile.
func pread(_ *os.File, fd uintptr, p []byte, off int64) (int, error) {
	for {
		n, err := unix.Pread(int(fd), p, off)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func fstat(_ *os.File, fd uintptr) (s stat, links uint64, err error) {
	var st unix.Stat_t
	for {
		if err = unix.Fstat(int(fd), &st); err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return stat{}, 0, err
	}
	return stat{st.Size, st.Mtim.Nano(), st.Ctim.Nano(), uint64(st.Dev), uint64(st.Ino)}, uint64(st.Nlink), nil
}

// retry repeats what a signal cut short.
func retry(do func() error) error {
	for {
		if err := do(); err != unix.EINTR {
			return err
		}
	}
}

// noSpace reports whether there was no room: on the disk, in a quota, or for so
// large a file.
func noSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

// noLocks reports whether a file system said that it has no locks.
func noLocks(err error) bool {
	return errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP)
}

const noWait = syscall.O_NONBLOCK

func syncDir(d *os.File) error { return d.Sync() }
