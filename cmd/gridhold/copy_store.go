package main

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// storeTarget is a store of frames that a copy fills: a directory beside the
// one that it becomes, or that is packed into a zip, when it is whole.
type storeTarget struct {
	frameTarget
	os      *file.FS
	at      string // the absolute name of DST
	zip     bool
	half    string // the name of the directory until then
	empty   bool   // there is an empty directory
	replace bool   // there is a store
}

// newStoreTarget makes the directory, with an empty store in it.
func newStoreTarget(ctx context.Context, name string, tree bool, f copyFlags, p *progress) (*storeTarget, error) {
	fs, at, err := openParent(name)
	if err != nil {
		return nil, err
	}
	t := &storeTarget{
		frameTarget: frameTarget{fs: fs, checksums: f.checksums, p: p}, os: fs, at: at, zip: filepath.Ext(name) == ".b2z",
		half: file.Temporary + filepath.Base(at) + "." + rand.Text()[:8],
	}
	err = t.replaceable(ctx, f.overwrite)
	var c blosc2.Container
	if err == nil {
		c, err = blosc2.CreateStore(ctx, fs, t.half, blosc2.StoreSpec{Tree: tree}, blosc2.Options{})
	}
	if err == nil {
		err = c.Close()
	}
	if err != nil {
		return nil, errors.Join(err, fs.Close())
	}
	return t, nil
}

// replaceable refuses to take the place of what is no store, of one that holds
// files of others, and without overwrite of any. An empty directory is nothing.
func (t *storeTarget) replaceable(ctx context.Context, overwrite bool) error {
	info, err := os.Stat(t.at)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir() && !t.zip:
		entries, err := os.ReadDir(t.at)
		if t.empty = err == nil && len(entries) == 0; err != nil || t.empty {
			return err
		}
	}
	switch {
	case !overwrite:
		return fault.New(fault.ErrExists, "file", "", "is there already")
	case info.IsDir() == t.zip:
		return fault.New(fault.ErrExists, "file", "", "is no store of that kind, and is left alone")
	case t.zip: // ToB2Z looks what the file is
		return nil
	}
	spec := blosc2.StoreSpec{Replace: true}
	t.replace, err = spec.Replaceable(ctx, t.fs, filepath.Base(t.at))
	return err
}

// name is the file of a key, whose directories it makes.
func (t *storeTarget) name(ctx context.Context, key, ext string) (string, error) {
	if err := blosc2.CheckKey(key); err != nil || key == "/" {
		return "", fault.New(fault.ErrInvalid, "key", key, "")
	}
	dir := t.half
	parts := strings.Split(strings.Trim(path.Dir(key), "/"), "/")
	for _, part := range parts {
		if part == "" {
			continue
		}
		dir += "/" + part
		if err := t.fs.Mkdir(ctx, dir); err != nil && !errors.Is(err, fault.ErrExists) {
			return "", err
		}
	}
	return t.half + key + ext, nil
}

// close gives the store its name if the copy went well, and removes it
// otherwise.
func (t *storeTarget) close(ctx context.Context, overwrite bool, err error) error {
	half := filepath.Join(filepath.Dir(t.at), t.half)
	switch {
	case err != nil:
	case t.zip:
		err = t.pack(ctx, overwrite)
	case !t.replace:
		if t.empty {
			err = os.Remove(t.at) // unless it is empty no more
		}
		if err == nil {
			err = t.os.RenameNoReplace(ctx, t.half, filepath.Base(t.at))
		}
	default:
		old := half + ".old"
		if err = os.Rename(t.at, old); err != nil {
			break
		}
		if err = os.Rename(half, t.at); err != nil {
			err = errors.Join(err, os.Rename(old, t.at))
		} else {
			err = os.RemoveAll(old)
		}
	}
	return errors.Join(err, os.RemoveAll(half), t.os.Close())
}

func (t *storeTarget) pack(ctx context.Context, overwrite bool) error {
	c, err := blosc2.Open(ctx, t.fs, t.half, blosc2.Options{})
	if err != nil {
		return err
	}
	d, ok := c.(*blosc2.DictStore)
	if tree, isTree := c.(*blosc2.TreeStore); isTree {
		d, ok = tree.DictStore(), true
	}
	if !ok {
		return errors.Join(fault.New(fault.ErrInternal, "copy", "", "not a store"), c.Close())
	}
	return errors.Join(d.ToB2Z(ctx, t.fs, filepath.Base(t.at), overwrite), c.Close())
}

// metadata makes the leaf that holds the attributes of a node of a tree.
func (t *storeTarget) metadata(ctx context.Context, node string, set func(ctx context.Context, s *blosc2.SChunk) error) error {
	name, err := t.name(ctx, strings.TrimSuffix(node, "/")+metadataSuffix, ".b2f")
	if err != nil {
		return err
	}
	s, err := blosc2.CreateSChunk(ctx, t.fs, name, blosc2.Spec{ChunkSize: 1, Fill: func(ctx context.Context, c blosc2.Container) error {
		return set(ctx, c.(*blosc2.SChunk))
	}}, blosc2.Options{})
	if err != nil {
		return err
	}
	return s.Close()
}

// copyToStore makes a store of what the source names.
func copyToStore(ctx context.Context, s *source, name string, f copyFlags, p *progress) error {
	tree := s.opened == nil || isTree(s.opened)
	t, err := newStoreTarget(ctx, name, tree, f, p)
	if err != nil {
		return failed(name, err)
	}
	if s.opened != nil {
		err = t.fromContainer(ctx, s.opened, f)
	} else {
		err = t.fromZarr(ctx, s, f)
	}
	return failed(name, t.close(ctx, f.overwrite, err))
}

// fromZarr copies the arrays of a group, or one under --as.
func (t *storeTarget) fromZarr(ctx context.Context, s *source, f copyFlags) error {
	paths, err := f.nodes(ctx, s)
	if err != nil {
		return err
	}
	for _, from := range paths {
		key := "/" + strings.Trim(strings.TrimPrefix(from, s.path), "/")
		n, err := zarr.Open(ctx, s.store, from, zarr.Options{Codecs: s.codecs})
		if err != nil {
			return err
		}
		switch n := n.(type) {
		case *zarr.Group:
			if object := n.Attributes(); len(object) > 0 && string(object) != "{}" {
				err = t.metadata(ctx, key, func(ctx context.Context, to *blosc2.SChunk) error { return setAttributes(ctx, to, object) })
			}
		case *zarr.Array:
			if key == "/" {
				key = f.key()
			}
			var name string
			if name, err = t.name(ctx, key, ".b2nd"); err == nil {
				err = t.zarrArray(ctx, s, n, name, f)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fromContainer copies the leaves of a store, or one under --as.
func (t *storeTarget) fromContainer(ctx context.Context, c copyable, f copyFlags) error {
	return eachLeaf(ctx, c, f.key(), func(key string, leaf copyLeaf) error {
		name, err := t.name(ctx, key, extension(leaf))
		if err != nil {
			return err
		}
		return leaf.copyTo(ctx, &t.frameTarget, key, name, f)
	})
}

// key is that of what has none in the source.
func (f copyFlags) key() string { return "/" + strings.Trim(f.as, "/") }

// copyContainer makes arrays of Zarr of the arrays in a container.
func copyContainer(ctx context.Context, c copyable, to storage.Store, f copyFlags, p *progress) error {
	if f.blocks != "" {
		return usagef("--blocks goes with copies to Blosc2")
	}
	o, err := f.options()
	if err != nil {
		return err
	}
	attributes := map[string][]byte{} // of inner nodes
	if _, ok, err := c.leafKeys(ctx); err != nil {
		return err
	} else if ok {
		attributes[""] = nil
	}
	err = eachLeaf(ctx, c, "", func(key string, leaf copyLeaf) error {
		node, isMeta := strings.CutSuffix(key, metadataSuffix)
		from, err := leaf.facts()
		switch {
		case err != nil:
			return err
		case from != nil:
			for dir := path.Dir(key); dir != "." && dir != "/"; dir = path.Dir(dir) {
				if dir = strings.Trim(dir, "/"); attributes[dir] == nil {
					attributes[dir] = nil
				}
			}
			return boxesToZarr(ctx, leaf, from, to, strings.Trim(key, "/"), f, o, p)
		case isMeta:
			object, err := leaf.attributes(ctx)
			attributes[strings.Trim(node, "/")] = object
			return err
		}
		return fault.New(fault.ErrUnsupported, "copy", key, "a "+leaf.Kind()+" is no array")
	})
	for node, object := range attributes {
		if err == nil {
			_, err = zarr.CreateGroup(ctx, to, node, object, o)
		}
	}
	return err
}

// boxesToZarr copies one array.
func boxesToZarr(ctx context.Context, leaf copyLeaf, from frame, to storage.Store, path string, f copyFlags, o zarr.Options, p *progress) error {
	b := newBoxes(from)
	dtype, err := blosc2.ParseDType(from.facts().shape.DType)
	if err != nil {
		return err
	}
	text, err := zarrType(dtype.String())
	if err != nil {
		return err
	}
	attributes, err := leaf.attributes(ctx)
	if err != nil {
		return err
	}
	spec := zarr.ArraySpec{Shape: b.is.Shape, ChunkShape: slices.Clone(from.facts().shape.Chunks), DataType: text, Attributes: attributes}
	for i, n := range spec.ChunkShape {
		spec.ChunkShape[i] = max(n, 1)
	}
	if err := f.cut(&spec); err != nil {
		return err
	}
	if spec.Codecs, err = parseCodec(f.codec, littleEndian); err != nil {
		return err
	}
	dst, err := zarr.CreateArray(ctx, to, path, spec, o)
	if err != nil {
		return err
	}
	p.begin("/" + path)
	defer p.end()
	return dst.Fill(ctx, b.copyOfRegion, p.step)
}
