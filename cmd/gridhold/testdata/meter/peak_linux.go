package main

import (
	"os"
	"syscall"
)

// peak returns the most memory that an ended process had resident, in bytes.
func peak(s *os.ProcessState) int64 {
	return s.SysUsage().(*syscall.Rusage).Maxrss << 10
}
