//go:build race

package interop

// raced: the race detector is on, under which all takes ten times as long.
const raced = true
