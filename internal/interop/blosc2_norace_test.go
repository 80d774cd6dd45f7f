//go:build !race

package interop

// raced: see the other one.
const raced = false
