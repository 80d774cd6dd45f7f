package file

import (
	"os"
	"path"
	"path/filepath"

	"github.com/gridhold/gridhold/sdk/fault"
)

// mostLinks is how many links lead from one to the next, as on Linux.
const mostLinks = 40

// followed is the name that a link at the end of name leads to, which there
// need not be: what is done to a name is done to what it stands for, as Open
// has it, and the link stays. It may lead anywhere that opening it may.
func followed(root *os.Root, name string) (string, error) {
	for range mostLinks {
		info, err := root.Lstat(name)
		if os.IsNotExist(err) {
			return name, nil
		}
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			return name, err
		}
		target, err := root.Readlink(name)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			return "", fault.New(fault.ErrNotAllowed, "file", name, "a link that leads out")
		}
		name = path.Dir(name) + "/" + filepath.ToSlash(target) // not cleaned: what is before .. may be a link
	}
	return "", fault.New(fault.ErrIO, "file", name, "too many links")
}
