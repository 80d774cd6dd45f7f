//go:build unix

// Package cpu tells how long this process has run.
package cpu

import "golang.org/x/sys/unix"

// Seconds is how long all threads of this process have run, in all.
func Seconds() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
