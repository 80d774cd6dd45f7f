//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package file

import (
	"os"

	"golang.org/x/sys/unix"
)

// flock locks the open file, waiting for it or not. It is free again when the
// file is closed, also by the end of the process.
func flock(f *os.File, exclusive, wait bool) (held bool, err error) {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	if !wait {
		how |= unix.LOCK_NB
	}
	for {
		err := unix.Flock(int(f.Fd()), how)
		switch err {
		case nil:
			return true, nil
		case unix.EWOULDBLOCK:
			return false, nil
		case unix.EINTR:
		default:
			return false, err
		}
	}
}

func unflock(f *os.File) error {
	return retryInterrupted(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) })
}

// retryInterrupted repeats what a signal cut short.
func retryInterrupted(do func() error) error {
	for {
		if err := do(); err != unix.EINTR {
			return err
		}
	}
}
