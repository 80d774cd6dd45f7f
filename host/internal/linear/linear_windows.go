package linear

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// reserve takes n bytes of address space without memory behind them.
func reserve(n uint64) ([]byte, error) {
	at, err := windows.VirtualAlloc(0, uintptr(n), windows.MEM_RESERVE, windows.PAGE_NOACCESS)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), n), nil
}

// commit makes the bytes of b, which lie in a reservation, usable.
func commit(b []byte) error {
	_, err := windows.VirtualAlloc(uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), windows.MEM_COMMIT, windows.PAGE_READWRITE)
	return err
}

func unreserve(b []byte) {
	_ = windows.VirtualFree(uintptr(unsafe.Pointer(unsafe.SliceData(b))), 0, windows.MEM_RELEASE)
}
