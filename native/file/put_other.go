//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package file

import (
	"os"
	"path"
)

// openLock opens what writers of a directory lock: a file in it, since here a
// directory cannot be locked.
func openLock(root *os.Root, dir string) (*os.File, error) {
	return root.OpenFile(path.Join(dir, Temporary+"lock"), os.O_RDWR|os.O_CREATE, 0o666)
}
