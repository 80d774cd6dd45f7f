//go:build !linux && !darwin && !freebsd

package file

import (
	"os"

	"github.com/gridhold/gridhold/sdk/storage"
)

func statFS(*os.File) (storage.FSInfo, error) { return storage.FSInfo{Free: -1}, nil }
