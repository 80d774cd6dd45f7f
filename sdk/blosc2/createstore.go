package blosc2

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// StoreSpec says how a store is made.
type StoreSpec struct {
	Tree bool // a TreeStore
	// Threshold is how many decoded bytes make a leaf a file of its own; 0: all
	// are, negative: none.
	Threshold int64
	// Replace and OrOpen are those of Spec. A store that is replaced is not
	// there for a moment, between two renamings.
	Replace, OrOpen bool
}

// CreateStore makes an empty DictStore or TreeStore in a new directory and
// opens it for writing. ErrExists if there is anything of that name, unless
// spec says what to do with it.
func CreateStore(ctx context.Context, fs storage.FS, name string, spec StoreSpec, o Options) (Container, error) {
	o.Write = true
	if spec.OrOpen {
		c, err := Open(ctx, fs, name, o)
		if err == nil {
			return spec.adopt(c, name)
		}
		if !errors.Is(err, fault.ErrNotFound) {
			return nil, err
		}
	}
	there, err := spec.Replaceable(ctx, fs, name)
	if err != nil {
		return nil, err
	}
	if err := spec.make(ctx, fs, name, there, o); err != nil {
		return nil, err
	}
	o.made = true
	c, err := Open(ctx, fs, name, o)
	if err != nil {
		return nil, err
	}
	return spec.adopt(c, name)
}

// make makes an empty store beside, which then takes the name.
func (spec *StoreSpec) make(ctx context.Context, fs storage.FS, name string, there bool, o Options) (err error) {
	s, err := newSibling(ctx, fs, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.drop(ctx)) }()
	if err := fs.Mkdir(ctx, s.other()); err != nil {
		return err
	}
	layer := dictLayer
	if spec.Tree {
		layer = treeLayer
	}
	e, err := createEmbedded(ctx, fs, join(s.other(), embedFile), layer, o)
	if err == nil {
		err = e.Close()
	}
	switch {
	case err != nil:
	case there:
		err = swap(ctx, fs, s.other(), name)
	default:
		err = fs.RenameNoReplace(ctx, s.other(), name)
	}
	if err != nil {
		return errors.Join(err, removeTree(context.WithoutCancel(ctx), fs, s.other()))
	}
	if o.Durability == SyncNever {
		return nil
	}
	return fs.SyncDir(ctx, dirOf(name))
}

// adopt takes an open container for the store that was asked for.
func (spec *StoreSpec) adopt(c Container, name string) (Container, error) {
	switch c := c.(type) {
	case *DictStore:
		if !spec.Tree && !c.zip() {
			c.threshold = spec.Threshold
			return c, nil
		}
	case *TreeStore:
		if spec.Tree && !c.d.zip() {
			c.d.threshold = spec.Threshold
			return c, nil
		}
	}
	return nil, errors.Join(fault.New(fault.ErrExists, "blosc2", name, "is a "+c.Kind()+", or a zip"), c.Close())
}

// Replaceable reports whether there is a store of that name, which Replace
// allows to be replaced. ErrExists for whatever else there is, for a store among
// whose files are others, and without Replace for any.
func (spec *StoreSpec) Replaceable(ctx context.Context, fs storage.FS, name string) (bool, error) {
	_, err := fs.Stat(ctx, name)
	if errors.Is(err, fault.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !spec.Replace {
		return false, storage.FileExists(name)
	}
	c, err := Open(ctx, fs, name, Options{})
	if err != nil {
		return false, fault.New(fault.ErrExists, "blosc2", name, "is no store: "+err.Error())
	}
	defer c.Close()
	d, ok := c.(*DictStore)
	if t, isTree := c.(*TreeStore); isTree {
		d, ok = t.d, true
	}
	if !ok || d.zip() {
		return false, fault.New(fault.ErrExists, "blosc2", name, "is no store in a directory")
	}
	files, err := d.files.list(ctx)
	if err != nil {
		return false, err
	}
	for _, file := range files {
		if file != embedFile && !slices.Contains(leafExtensions, path.Ext(file)) && !leftOver(file) {
			return false, fault.New(fault.ErrExists, "blosc2", join(name, file), "is no file of the store, which is left alone")
		}
	}
	return true, nil
}

// leftOver reports whether a file is a lock or what a writer left behind.
func leftOver(file string) bool { return isLock(file) || path.Ext(file) == ".tmp" }

// swap gives the directory tmp the name of another one, which it removes.
func swap(ctx context.Context, fs storage.FS, tmp, name string) (err error) {
	s, err := newSibling(ctx, fs, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.drop(ctx)) }()
	old := s.other() // a name that is free: no directory takes the place of another
	if err := fs.Rename(ctx, name, old); err != nil {
		return err
	}
	if err := fs.Rename(ctx, tmp, name); err != nil {
		return errors.Join(err, fs.Rename(context.WithoutCancel(ctx), old, name))
	}
	return removeTree(ctx, fs, old)
}

// removeTree removes a directory with all that is in it.
func removeTree(ctx context.Context, fs storage.FS, name string) error {
	files, err := fs.List(ctx, name)
	if err != nil {
		return err
	}
	for _, file := range files {
		if sub, ok := strings.CutSuffix(file, "/"); ok {
			err = removeTree(ctx, fs, join(name, sub))
		} else {
			err = fs.Remove(ctx, join(name, file))
		}
		if err != nil {
			return err
		}
	}
	return fs.Remove(ctx, name)
}
