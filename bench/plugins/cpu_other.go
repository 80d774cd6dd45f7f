//go:build !unix

package main

// processCPU is 0: this platform is not asked.
func processCPU() float64 { return 0 }
