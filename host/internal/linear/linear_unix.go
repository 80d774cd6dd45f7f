//go:build linux || darwin || freebsd

package linear

import "golang.org/x/sys/unix"

// reserve takes n bytes of address space without memory behind them.
func reserve(n uint64) ([]byte, error) {
	return unix.Mmap(-1, 0, int(n), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
}

// commit makes the bytes of b, which lie in a reservation, usable.
func commit(b []byte) error { return unix.Mprotect(b, unix.PROT_READ|unix.PROT_WRITE) }

func unreserve(b []byte) { _ = unix.Munmap(b) }
