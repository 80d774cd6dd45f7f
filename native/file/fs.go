package file

import (
	"context"
	"errors"
	"os"
	"path"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// FS is a directory as a storage.FS. No name and no symbolic link leads out
// of it. Safe for concurrent use.
//
// OpenWrite implies OpenRead. Names that are not regular files (pipes,
// devices) cannot be opened.
type FS struct {
	dir  string
	root *os.Root
}

// OpenFS opens the directory dir as a file system.
func OpenFS(dir string) (*FS, error) {
	root, err := openRoot(dir)
	if err != nil {
		return nil, failure(dir, err)
	}
	return &FS{dir, root}, nil
}

// openRoot opens a directory. To open a pipe would be to wait for its writer.
func openRoot(dir string) (*os.Root, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, &os.PathError{Op: "open", Path: dir, Err: errors.New("not a directory")}
	}
	return os.OpenRoot(dir)
}

// Close closes the file system, not its open files. Closing twice is fine.
func (s *FS) Close() error { return failure(s.dir, s.root.Close()) }

// Open is FS's.
func (s *FS) Open(ctx context.Context, name string, flags storage.OpenFlag) (storage.File, error) {
	if err := checkName(ctx, name); err != nil {
		return nil, err
	}
	f, err := openFlags(s.root, name, flags)
	if err != nil {
		return nil, failure(name, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = failure(name, err)
	case info.IsDir():
		err = fault.New(fault.ErrIO, "file", name, "is a directory")
	case !info.Mode().IsRegular():
		err = fault.New(fault.ErrIO, "file", name, "is not a regular file")
	default:
		return newFile(f, name, flags&storage.OpenWrite != 0), nil
	}
	f.Close()
	return nil, err
}

func openFlags(root *os.Root, name string, flags storage.OpenFlag) (*os.File, error) {
	how := os.O_RDONLY
	if flags&(storage.OpenWrite|storage.OpenTruncate) != 0 {
		how = os.O_RDWR
	}
	for flag, std := range map[storage.OpenFlag]int{
		storage.OpenCreate: os.O_CREATE, storage.OpenExclusive: os.O_EXCL, storage.OpenTruncate: os.O_TRUNC,
	} {
		if flags&flag != 0 {
			how |= std
		}
	}
	return root.OpenFile(name, how|noWait, 0o666)
}

// Stat is FS's.
func (s *FS) Stat(ctx context.Context, name string) (storage.FileInfo, error) {
	if info, done, err := s.statName(ctx, name); done {
		return info, err
	}
	f, err := s.look(ctx, name)
	if err != nil {
		return storage.FileInfo{}, err
	}
	defer f.Close()
	return fileInfo(f, name)
}

// look opens a file or directory to ask about it; "" is the root.
func (s *FS) look(ctx context.Context, name string) (*os.File, error) {
	if name == "" {
		name = "."
	} else if err := storage.CheckKey(name); err != nil {
		return nil, err
	}
	if err := storage.Ended(ctx, name); err != nil {
		return nil, err
	}
	f, err := openRead(s.root, name)
	return f, failure(name, err)
}

// Rename is FS's.
func (s *FS) Rename(ctx context.Context, from, to string) error {
	if err := checkName(ctx, from, to); err != nil {
		return err
	}
	at, err := followed(s.root, from)
	if err != nil {
		return failure(from, err)
	}
	target, err := followed(s.root, to)
	if err != nil {
		return failure(to, err)
	}
	return failure(from, s.root.Rename(at, target))
}

// RenameNoReplace is FS's. Where the system cannot do it in one step, to is
// linked before from is removed, which only files can; no directory replaces
// anything anyway.
func (s *FS) RenameNoReplace(ctx context.Context, from, to string) error {
	if err := checkName(ctx, from, to); err != nil {
		return err
	}
	at, err := followed(s.root, from)
	if err != nil {
		return failure(from, err)
	}
	err = s.renameNoReplace(at, to)
	if errors.Is(err, errors.ErrUnsupported) {
		if info, statErr := s.root.Lstat(at); statErr == nil && info.IsDir() {
			err = s.root.Rename(at, to)
		} else if err = s.root.Link(at, to); err == nil {
			err = s.root.Remove(at)
		}
	}
	if errors.Is(err, os.ErrExist) {
		return storage.FileExists(to)
	}
	return failure(from, err)
}

// renameNoReplace names both ends by directories that are open, so that no
// link is followed on the way.
func (s *FS) renameNoReplace(from, to string) error {
	a, err := s.root.Open(path.Dir(from))
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := s.root.Open(path.Dir(to))
	if err != nil {
		return err
	}
	defer b.Close()
	return renameNoReplace(a, path.Base(from), b, path.Base(to))
}

// Remove is FS's.
func (s *FS) Remove(ctx context.Context, name string) error {
	if err := checkName(ctx, name); err != nil {
		return err
	}
	return failure(name, s.root.Remove(name))
}

// Mkdir is FS's.
func (s *FS) Mkdir(ctx context.Context, name string) error {
	if err := checkName(ctx, name); err != nil {
		return err
	}
	return failure(name, s.root.Mkdir(name, 0o777))
}

// List is FS's. It leaves out what cannot be opened by its name: special
// files, links that lead out, names that are not well formed.
func (s *FS) List(ctx context.Context, name string) ([]string, error) {
	if name != "" {
		if err := storage.CheckKey(name); err != nil {
			return nil, err
		}
	}
	if err := storage.Ended(ctx, name); err != nil {
		return nil, err
	}
	names, err := readDir(s.root, name, storage.ValidKey)
	return names, failure(path.Clean(name), err)
}

// SyncDir is FS's. It does nothing where directories need and take no sync
// (Windows).
func (s *FS) SyncDir(ctx context.Context, name string) error {
	f, err := s.look(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	return failure(name, syncDir(f))
}

// StatFS is FS's.
func (s *FS) StatFS(ctx context.Context, name string) (storage.FSInfo, error) {
	f, err := s.look(ctx, name)
	if err != nil {
		return storage.FSInfo{}, err
	}
	defer f.Close()
	info, err := statFS(f)
	return info, failure(name, err)
}

func checkName(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := storage.CheckKey(name); err != nil {
			return err
		}
	}
	return storage.Ended(ctx, names[0])
}
