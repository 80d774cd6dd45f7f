//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package file

import "os"

// openLock opens what writers of a directory lock: the directory itself.
func openLock(root *os.Root, dir string) (*os.File, error) { return root.Open(dir) }
