//go:build !linux

package file

import (
	"errors"

	"github.com/gridhold/gridhold/sdk/storage"
)

const statsOpen = false

func statOpen(uintptr, *storage.FileInfo) error { return errors.ErrUnsupported }
