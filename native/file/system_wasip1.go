package file

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// A guest of WASI reads the directories that its host opened for it. There
// are no locks between processes here, so nothing is written through a Store.

func openRead(root *os.Root, name string) (*os.File, error) { return root.Open(name) }

func pread(f *os.File, _ uintptr, p []byte, off int64) (int, error) {
	n, err := f.ReadAt(p, off)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

func fstat(f *os.File, _ uintptr) (s stat, links uint64, err error) {
	info, err := f.Stat()
	if err != nil {
		return stat{}, 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stat{}, 0, errors.ErrUnsupported
	}
	return stat{int64(st.Size), int64(st.Mtime), int64(st.Ctime), st.Dev, st.Ino}, max(st.Nlink, 1), nil
}

func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

func noLocks(err error) bool { return errors.Is(err, syscall.ENOSYS) }

const noWait = 0

func syncDir(d *os.File) error { return d.Sync() }
