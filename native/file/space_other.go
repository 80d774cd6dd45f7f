//go:build !linux

package file

import (
	"context"
	"errors"
	"os"
	"runtime"
	"time"

	"github.com/gridhold/gridhold/sdk/storage"
)

func allocate(uintptr, int64, int64) error { return errors.ErrUnsupported }

func punchHole(uintptr, int64, int64) error { return errors.ErrUnsupported }

func copyRange(uintptr, int64, uintptr, int64, int) (int, error) { return 0, errors.ErrUnsupported }

func renameNoReplace(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }

func allocated(os.FileInfo) int64 { return 0 }

// changeTime is unknown on Windows, where the times of a file can be set.
func changeTime(s stat) time.Time {
	if runtime.GOOS == "windows" {
		return time.Time{}
	}
	return time.Unix(0, s.change)
}

func (s *FS) statName(context.Context, string) (storage.FileInfo, bool, error) {
	return storage.FileInfo{}, false, nil
}
