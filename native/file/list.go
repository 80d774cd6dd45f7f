package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// List is Lister's. It names what can be an object or holds some: regular
// files, directories, and links that lead to one within the root.
func (s *Store) List(ctx context.Context, prefix string) ([]string, error) {
	if err := storage.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	if err := storage.Ended(ctx, prefix); err != nil {
		return nil, err
	}
	var names []string
	err := s.room(func() (err error) {
		names, err = readDir(s.root, prefix, func(name string) bool {
			return storage.ValidKey(name) && !strings.HasPrefix(name, Temporary)
		})
		return err
	})
	if err = failure(path.Clean(prefix), err); errors.Is(err, fault.ErrNotFound) {
		return []string{}, nil
	}
	return names, err
}

// readDir returns the names in a directory ("" is the root itself), sorted,
// directories with a "/" at the end. Errors are the system's.
func readDir(root *os.Root, dir string, wanted func(name string) bool) ([]string, error) {
	dir = path.Clean(dir)
	d, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		name, mode := e.Name(), e.Type()
		if !wanted(name) {
			continue
		}
		if mode&fs.ModeSymlink != 0 {
			info, err := root.Stat(dir + "/" + name)
			if err != nil {
				continue // leads out, or nowhere
			}
			mode = info.Mode()
		}
		switch {
		case mode.IsDir():
			names = append(names, name+"/")
		case mode.IsRegular():
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
