package file

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gridhold/gridhold/sdk/storage"
)

func allocate(fd uintptr, off, n int64) error { return fallocate(fd, 0, off, n) }

func punchHole(fd uintptr, off, n int64) error {
	return fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
}

func fallocate(fd uintptr, mode uint32, off, n int64) error {
	return retry(func() error { return unix.Fallocate(int(fd), mode, off, n) })
}

func copyRange(dst uintptr, off int64, src uintptr, srcOff int64, n int) (k int, err error) {
	err = retry(func() (err error) {
		k, err = unix.CopyFileRange(int(src), &srcOff, int(dst), &off, n, 0)
		return err
	})
	return k, err
}

func renameNoReplace(fromDir *os.File, from string, toDir *os.File, to string) error {
	err := unix.Renameat2(int(fromDir.Fd()), from, int(toDir.Fd()), to, unix.RENAME_NOREPLACE)
	if err == unix.EINVAL || err == unix.ENOSYS {
		return errors.ErrUnsupported // the file system, or a kernel before 3.15
	}
	return err
}

// allocated returns how many bytes of the file system a file takes.
func allocated(info os.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return 0
}

// changeTime is the time of the last change of anything about the file.
func changeTime(s stat) time.Time { return time.Unix(0, s.change) }

// statName asks about a name without opening it, which may be slow on a
// network.
func (s *FS) statName(ctx context.Context, name string) (storage.FileInfo, bool, error) {
	if name == "" {
		return storage.FileInfo{}, false, nil
	}
	if err := checkName(ctx, name); err != nil {
		return storage.FileInfo{}, true, err
	}
	info, err := s.root.Stat(name)
	if err != nil {
		return storage.FileInfo{}, true, failure(name, err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return storage.FileInfo{}, false, nil
	}
	return storage.FileInfo{
		Size: st.Size, ModTime: time.Unix(st.Mtim.Unix()), ChangeTime: time.Unix(st.Ctim.Unix()), Allocated: st.Blocks * 512,
		Dev: uint64(st.Dev), Ino: st.Ino, Links: uint64(st.Nlink), Dir: info.IsDir(),
	}, true, nil
}

// kinds are the file systems that one meets, by the numbers of statfs(2).
var kinds = map[uint32]struct {
	name    string
	network bool
}{
	unix.EXT4_SUPER_MAGIC: {"ext4", false}, unix.XFS_SUPER_MAGIC: {"xfs", false}, unix.BTRFS_SUPER_MAGIC: {"btrfs", false},
	unix.TMPFS_MAGIC: {"tmpfs", false}, unix.OVERLAYFS_SUPER_MAGIC: {"overlay", false}, unix.F2FS_SUPER_MAGIC: {"f2fs", false},
	0x2fc12fc1: {"zfs", false}, unix.NFS_SUPER_MAGIC: {"nfs", true}, unix.SMB_SUPER_MAGIC: {"smb", true},
	unix.SMB2_SUPER_MAGIC: {"smb2", true}, unix.CIFS_SUPER_MAGIC: {"cifs", true}, unix.CEPH_SUPER_MAGIC: {"ceph", true},
	unix.AFS_SUPER_MAGIC: {"afs", true}, unix.V9FS_MAGIC: {"9p", true}, unix.FUSE_SUPER_MAGIC: {"fuse", true},
	0x0bd00bd0: {"lustre", true}, 0x47504653: {"gpfs", true}, 0x19830326: {"beegfs", true},
}

func statFS(f *os.File) (storage.FSInfo, error) {
	var s unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(int(f.Fd()), &s) }); err != nil {
		return storage.FSInfo{}, err
	}
	kind := kinds[uint32(s.Type)]
	return storage.FSInfo{Kind: kind.name, Network: kind.network, Free: int64(s.Bavail) * int64(s.Bsize)}, nil
}
