package mmap

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Supported says whether this system has mappings.
const Supported = true

// mapFile lets the mapping object go at once: the view keeps it.
func mapFile(f *os.File, n int) ([]byte, error) {
	h, err := windows.CreateFileMapping(windows.Handle(f.Fd()), nil, windows.PAGE_READONLY, 0, 0, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateFileMapping", err)
	}
	defer windows.CloseHandle(h)
	addr, err := windows.MapViewOfFile(h, windows.FILE_MAP_READ, 0, 0, uintptr(n))
	if err != nil {
		return nil, os.NewSyscallError("MapViewOfFile", err)
	}
	// Not memory of Go's, so the address is a pointer that never moves.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), n), nil
}

func unmap(data []byte) error { return windows.UnmapViewOfFile(start(data)) }

func start(data []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(data))) }

// loadWord loads 8 bytes in one piece, in little-endian order.
func loadWord(data []byte, off int64) uint64 {
	return littleEndian(atomic.LoadUint64((*uint64)(unsafe.Pointer(&data[off]))))
}
