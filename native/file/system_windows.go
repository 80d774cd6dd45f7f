package file

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/windows"
)

func openRead(root *os.Root, name string) (*os.File, error) { return root.Open(name) }

func pread(f *os.File, _ uintptr, p []byte, off int64) (int, error) {
	n, err := f.ReadAt(p, off)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

func fstat(_ *os.File, fd uintptr) (s stat, links uint64, err error) {
	var d windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(fd), &d); err != nil {
		return stat{}, 0, err
	}
	mtime := d.LastWriteTime.Nanoseconds()
	return stat{
		size:  int64(d.FileSizeHigh)<<32 | int64(d.FileSizeLow),
		mtime: mtime, change: mtime,
		dev: uint64(d.VolumeSerialNumber),
		ino: uint64(d.FileIndexHigh)<<32 | uint64(d.FileIndexLow),
	}, uint64(d.NumberOfLinks), nil
}

func noSpace(err error) bool {
	for _, full := range []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED, windows.ERROR_FILE_TOO_LARGE} {
		if errors.Is(err, full) {
			return true
		}
	}
	return false
}

// noLocks reports whether a file system said that it has no locks.
func noLocks(err error) bool {
	return errors.Is(err, windows.ERROR_NOT_SUPPORTED) || errors.Is(err, windows.ERROR_INVALID_FUNCTION) || errors.Is(err, windows.ERROR_CALL_NOT_IMPLEMENTED)
}

const noWait = 0

// syncDir: NTFS journals its names, and a directory cannot be flushed.
func syncDir(*os.File) error { return nil }
