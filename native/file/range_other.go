//go:build !linux && !darwin && !windows

package file

import (
	"errors"

	"github.com/gridhold/gridhold/sdk/storage"
)

// Locks that belong to a process rather than to an open file would not tell
// two openings in one process apart.
func lockRange(uintptr, int64, storage.LockMode) (held bool, err error) {
	return false, errors.ErrUnsupported
}

func unlockRange(uintptr, int64) error { return errors.ErrUnsupported }
