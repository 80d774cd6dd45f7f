//go:build !unix

// Package cpu tells how long this process has run.
package cpu

// Seconds is 0: this platform is not asked.
func Seconds() float64 { return 0 }
