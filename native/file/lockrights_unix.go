//go:build unix

package file

import (
	"os"
	"path"
	"strings"
	"syscall"
)

// admit lets those lock who may use what is locked: the file of the lock is
// made with what the umask leaves, and is then given the group and the rights
// of its container, which may have been opened to others by hand. It takes
// nothing away. Where we may not do that, because the file is somebody else's
// or the file system has no rights, it stays as it is: nobody is kept from
// locking who could before.
//
// The container is what has the name of the lock without its last suffix, or
// the directory of a lock that has nothing before it.
func admit(root *os.Root, f *os.File, name string) {
	of := strings.TrimSuffix(name, path.Ext(name))
	if path.Base(name) == path.Ext(name) {
		of = path.Dir(name)
	}
	container, err := root.Stat(of)
	if err != nil {
		return // it is made after its lock
	}
	own, err := f.Stat()
	if err != nil {
		return
	}
	rights := own.Mode().Perm() | container.Mode().Perm()&0o066
	a, ok := container.Sys().(*syscall.Stat_t)
	b, too := own.Sys().(*syscall.Stat_t)
	if !ok || !too {
		return
	}
	if a.Gid != b.Gid && container.Mode().Perm()&0o060 != 0 && f.Chown(-1, int(a.Gid)) != nil {
		rights = own.Mode().Perm() | container.Mode().Perm()&0o006 // the group is another one
	}
	if rights != own.Mode().Perm() {
		_ = f.Chmod(rights)
	}
}
