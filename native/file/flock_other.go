//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package file

import (
	"errors"
	"os"
)

func tryLock(*os.File, bool) (held bool, err error) { return false, errors.ErrUnsupported }
