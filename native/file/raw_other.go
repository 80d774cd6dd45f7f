//go:build !linux || !(amd64 || arm64)

package file

import (
	"errors"

	"github.com/gridhold/gridhold/sdk/storage"
)

const rawCalls = false

func rawLock(uintptr, bool) (held bool, err error) { return false, errors.ErrUnsupported }
func rawUnlock(uintptr) error                      { return errors.ErrUnsupported }
func rawLinks(uintptr) (links uint64, ok bool)     { return 0, false }
func rawStat(uintptr, *storage.FileInfo) bool      { return false }
