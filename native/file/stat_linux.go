package file

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/gridhold/gridhold/sdk/storage"
)

// statsOpen says whether there is statOpen.
const statsOpen = true

// statOpen asks about an open file by one system call.
func statOpen(fd uintptr, info *storage.FileInfo) error {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstat(int(fd), &st) }); err != nil {
		return err
	}
	described(&st, info)
	return nil
}

func described(st *unix.Stat_t, info *storage.FileInfo) {
	*info = storage.FileInfo{
		Size: st.Size, ModTime: time.Unix(st.Mtim.Unix()), ChangeTime: time.Unix(st.Ctim.Unix()), Allocated: st.Blocks * 512,
		Dev: st.Dev, Ino: st.Ino, Links: uint64(st.Nlink), Dir: st.Mode&unix.S_IFMT == unix.S_IFDIR,
	}
}
