//go:build unix

package main

import "golang.org/x/sys/unix"

// processCPU is the seconds that all threads of this process have run.
func processCPU() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
