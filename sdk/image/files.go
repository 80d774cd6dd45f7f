package image

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// FilesOptions says where files are looked for and how they are read. The
// zero value is the advice.
type FilesOptions struct {
	MRCOptions
	// Roots are the directories that relative keys begin in, names of the file
	// system, the first that has the file counts; none: its root. Tables name
	// files relative to the project's directory, which is seldom their own:
	// see Ancestors.
	Roots []string
}

// Files returns the provider that takes keys as names of MRC files. Safe for
// concurrent use.
//
// A key is looked for in this order, and the first file that exists is the
// one: a key that begins with "/" from the root of the file system and
// nowhere else; any other one in each directory of Roots in turn; then, where
// the key ends in a format behind a colon as RELION writes it
// ("a.mrc:mrcs"), the same without that. "." and ".." are resolved in the
// text, before any link is followed. ErrInvalid for a key that leads out of
// the file system.
//
// Open returns a [FileReader] that also has the methods of [MRC]. Every Open
// opens the file anew: see [KeepOpen].
func Files(fs storage.FS, o FilesOptions) ReaderProvider {
	return &files{fs, FilesOptions{o.MRCOptions, slices.Clone(o.Roots)}}
}

type files struct {
	fs storage.FS
	o  FilesOptions
}

// Open is ReaderProvider's.
func (f *files) Open(ctx context.Context, key string) (Reader, error) {
	var r Reader
	err := eachName(key, f.o.Roots, func(name string) error {
		file, err := f.fs.Open(ctx, name, storage.OpenRead)
		if err != nil {
			return err
		}
		m, err := openMRC(ctx, fileSource{file, key}, key, f.o.MRCOptions)
		if err == nil {
			r = mrcFile{m, file}
		}
		return err
	})
	return r, err
}

// Stat is Stater's.
func (f *files) Stat(ctx context.Context, key string) (info storage.FileInfo, err error) {
	err = eachName(key, f.o.Roots, func(name string) (err error) {
		info, err = f.fs.Stat(ctx, name)
		return err
	})
	return info, err
}

// Objects returns the provider that takes keys as names of MRC files in a
// store. It looks as Files does; the roots are prefixes without a "/" behind.
// A reader keeps to the version of the object that it opened: ErrStale once
// there is another. Safe for concurrent use.
func Objects(store storage.Store, o FilesOptions) ReaderProvider {
	return &objects{store, FilesOptions{o.MRCOptions, slices.Clone(o.Roots)}}
}

type objects struct {
	store storage.Store
	o     FilesOptions
}

// Open is ReaderProvider's.
func (s *objects) Open(ctx context.Context, key string) (Reader, error) {
	var r Reader
	err := eachName(key, s.o.Roots, func(name string) error {
		m, err := openMRC(ctx, &objectSource{store: s.store, key: name}, key, s.o.MRCOptions)
		if err == nil {
			r = m
		}
		return err
	})
	return r, err
}

// eachName tries the names that a key may have until there is a file of that
// name. Its error names the key.
func eachName(key string, roots []string, try func(name string) error) error {
	names, err := Names(key, roots...)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err = try(name); !errors.Is(err, fault.ErrNotFound) {
			break
		}
	}
	switch {
	case errors.Is(err, fault.ErrNotFound): // under any name
		return fault.New(fault.ErrNotFound, "image", key, "")
	case err != nil:
		if e := (*fault.Error)(nil); !errors.As(err, &e) || e.Item != key {
			return &fault.Error{Format: "image", Item: key, Off: -1, Err: err}
		}
	}
	return err
}

// Names returns the names that a key may have in a file system, in the order
// in which Files looks, without those that lead out. ErrInvalid if none is left.
func Names(key string, roots ...string) ([]string, error) {
	if len(roots) == 0 || strings.HasPrefix(key, "/") {
		roots = []string{""}
	}
	var names []string
	for _, k := range slices.Compact([]string{key, withoutSuffix(key)}) {
		for _, root := range roots {
			if name := strings.TrimPrefix(path.Join(root, k), "/"); storage.ValidKey(name) {
				names = append(names, name)
			}
		}
	}
	if names == nil {
		return nil, fault.New(fault.ErrInvalid, "image", key, "not the name of a file")
	}
	return names, nil
}

// Ancestors returns the directory dir, its parent, and so on to the root,
// which is "". They are the Roots for a table in that directory whose
// project's directory is not known.
func Ancestors(dir string) []string {
	var dirs []string
	for dir = strings.Trim(path.Clean(dir), "/"); dir != "" && dir != "."; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return append(dirs, "")
}
