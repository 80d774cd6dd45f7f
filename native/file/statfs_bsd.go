//go:build darwin || freebsd

package file

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/gridhold/gridhold/sdk/storage"
)

func statFS(f *os.File) (storage.FSInfo, error) {
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &s); err != nil {
		return storage.FSInfo{}, err
	}
	kind := unix.ByteSliceToString(s.Fstypename[:])
	return storage.FSInfo{Kind: kind, Network: s.Flags&unix.MNT_LOCAL == 0, Free: int64(s.Bavail) * int64(s.Bsize)}, nil
}
