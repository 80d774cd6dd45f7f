package main

import (
	"os"
	"syscall"
)

// peak returns the most memory that an ended process had resident, in bytes.
// Linux counts what the parent had when it started the process, so it is an
// upper bound.
func peak(s *os.ProcessState) int64 {
	return s.SysUsage().(*syscall.Rusage).Maxrss << 10
}
