//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package file

import (
	"errors"
	"os"
)

func flock(_ *os.File, exclusive, wait bool) (held bool, err error) {
	return false, errors.ErrUnsupported
}

func unflock(*os.File) error { return errors.ErrUnsupported }
