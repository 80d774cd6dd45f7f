//go:build gridhold_crash

package scratch

// Crash is called at every point where the state of a scratch has just
// changed, or is about to, with the name of the point. Tests end the process
// there.
var Crash = func(point string) {}

func crash(point string) { Crash(point) }

// crashHalf splits what is written in one go otherwise.
func crashHalf(n int) int { return n / 2 }
