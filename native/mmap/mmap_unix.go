//go:build unix

package mmap

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Supported says whether this system has mappings.
const Supported = true

func mapFile(f *os.File, n int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, n, unix.PROT_READ, unix.MAP_SHARED)
}

func unmap(data []byte) error { return unix.Munmap(data) }

func start(data []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(data))) }

// loadWord loads 8 bytes in one piece, in little-endian order.
func loadWord(data []byte, off int64) uint64 {
	return littleEndian(atomic.LoadUint64((*uint64)(unsafe.Pointer(&data[off]))))
}
