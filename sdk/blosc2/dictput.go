package blosc2

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/sdk/blosc2/msgpack"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Put stores a copy of a frame, an *SChunk or *NDArray, under a key: embedded
// or as a file of its own, by its size. What was there is replaced; who has it
// open goes on with it. ErrInvalid for a key that is not well formed;
// ErrReadOnly for a zip, and if the store was not opened with Options.Write.
func (d *DictStore) Put(ctx context.Context, key string, c Container) error {
	return d.put(ctx, key, c, func(*DictStore) error { return nil })
}

// put is Put if the store, once it is locked, allows it.
func (d *DictStore) put(ctx context.Context, key string, c Container, allows func(d *DictStore) error) error {
	dir, err := d.writable(key)
	if err != nil {
		return err
	}
	s, ext, err := leafOf(c)
	if err != nil {
		return err
	}
	// What may be a part of this store is copied before the store is locked.
	if d.threshold < 0 || s.Header().Size < d.threshold {
		b, err := cframe(ctx, c)
		if err != nil {
			return err
		}
		return d.held(ctx, storage.LockExclusive, func(d *DictStore) error {
			if err := allows(d); err != nil {
				return err
			}
			if err := d.embed.embed(ctx, key, b, true); err != nil {
				return err
			}
			gone, err := d.unlink(ctx, dir, key, "")
			return first(err, d.note(ctx, "", gone))
		})
	}
	name := dir.leaf(key, ext)
	if err := mkdirs(ctx, dir.fs, dir.name, path.Dir(strings.TrimPrefix(key, "/"))); err != nil {
		return err
	}
	f, err := newSibling(ctx, dir.fs, name)
	if err != nil {
		return err
	}
	leaf := &veiled{File: f.File}
	err = s.copyTo(ctx, leaf)
	if err == nil && d.o.Durability != SyncNever {
		err = f.Sync() // nearly all of it, before the store is locked
	}
	taken := false
	if err == nil {
		err = d.held(ctx, storage.LockExclusive, func(d *DictStore) error {
			if err := allows(d); err != nil {
				return err
			}
			if err := leaf.unveil(d.o.Durability); err != nil {
				return err
			}
			taken = true
			if err := f.take(ctx, name, false); err != nil {
				return err
			}
			if err := d.synced(ctx, dir, name); err != nil {
				return err
			}
			if _, err := d.unlink(ctx, dir, key, ext); err != nil { // of another kind, under the same key
				return err
			}
			return d.note(ctx, key, true)
		})
	}
	if !taken {
		err = errors.Join(err, f.drop(ctx))
	}
	return err
}

// leafOf returns the frame of what can be a leaf, and its extension.
func leafOf(c Container) (*SChunk, string, error) {
	switch c := c.(type) {
	case *NDArray:
		return c.s, ".b2nd", nil
	case *SChunk:
		if c.Kind() == "batcharray" {
			return c, ".b2b", nil
		}
		return c, ".b2f", nil
	}
	return nil, "", fault.New(fault.ErrInvalid, "blosc2", "", "a "+c.Kind()+" is no leaf")
}

// Delete removes what lies under a key, all files of it. ErrNotFound, ErrReadOnly.
func (d *DictStore) Delete(ctx context.Context, key string) error {
	dir, err := d.writable(key)
	if err != nil {
		return err
	}
	return d.held(ctx, storage.LockExclusive, func(d *DictStore) error {
		files, err := d.filesOf(ctx, key)
		if err != nil {
			return err
		}
		m, err := d.embed.embedded(ctx)
		if err != nil {
			return err
		}
		_, embedded := m[key]
		if !embedded && len(files) == 0 {
			return noKey(key)
		}
		for i, name := range files {
			if embedded && d.preferred(name) {
				if err := d.note(ctx, key, i > 0); err != nil {
					return err
				}
				embedded = false
			}
			if err := d.remove(ctx, dir, join(dir.name, name)); err != nil {
				return err
			}
		}
		return d.note(ctx, key, len(files) > 0)
	})
}

// filesOf returns the files of a key, several if a writer was killed or others
// put them there. Get finds the last one: who removes them does so in this
// order, so that none comes to light that was hidden.
func (d *DictStore) filesOf(ctx context.Context, key string) ([]string, error) {
	all, err := d.files.list(ctx)
	if err != nil {
		return nil, err
	}
	files := slices.DeleteFunc(all, func(name string) bool {
		return leafKey(name) != key || !d.preferred(name) && !d.probe(ctx, name)
	})
	rank := func(name string) int {
		i := slices.Index(leafExtensions, path.Ext(name))
		if i < 0 {
			i = len(leafExtensions)
		}
		return i
	}
	slices.SortStableFunc(files, func(a, b string) int { return rank(b) - rank(a) })
	return files, nil
}

// preferred reports whether a file goes before what is embedded under its key.
func (d *DictStore) preferred(name string) bool {
	return slices.Contains(leafExtensions, path.Ext(name))
}

// leaf is the file of a key.
func (d *directory) leaf(key, ext string) string {
	return join(d.name, strings.TrimPrefix(key, "/")+ext)
}

// unlink removes the files of a key but the one with an extension, and reports
// whether there were any. See filesOf for the order.
func (d *DictStore) unlink(ctx context.Context, dir *directory, key, but string) (found bool, err error) {
	for _, ext := range slices.Backward(leafExtensions) {
		if ext == but {
			continue
		}
		err := d.remove(ctx, dir, dir.leaf(key, ext))
		if err != nil && !errors.Is(err, fault.ErrNotFound) {
			return found, err
		}
		found = found || err == nil
	}
	return found, nil
}

// remove removes a file, for good.
func (d *DictStore) remove(ctx context.Context, dir *directory, name string) error {
	err := dir.fs.Remove(ctx, name)
	if err != nil || d.o.Durability == SyncNever {
		return err
	}
	return dir.fs.SyncDir(ctx, dirOf(name))
}

// synced makes the name of a file outlast a power cut, with the directories on
// the way to it, which may be new.
func (d *DictStore) synced(ctx context.Context, dir *directory, name string) error {
	if d.o.Durability == SyncNever {
		return nil
	}
	for name != dir.name && name != "" {
		name = dirOf(name)
		if err := dir.fs.SyncDir(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// tickValue counts changes of a store's files, for handles of python-blosc2
// that share it: they look for files when the frame changed.
const tickValue = "dstore_tick"

// note does to the frame what follows from a change of files: a key that is a
// file is embedded no more, and who shares the store is told.
func (d *DictStore) note(ctx context.Context, key string, files bool) error {
	m, err := d.embed.embedded(ctx)
	if err != nil {
		return err
	}
	_, embedded := m[key]
	files = files && d.embed.s.f.lock != nil
	if !embedded && !files {
		return nil
	}
	return d.embed.s.f.change(ctx, func(dr *draft) error {
		if embedded {
			m, err := d.embed.embeddedIn(dr)
			if err != nil {
				return err
			}
			delete(m, key)
			if err := dr.setMap(m, dr.Size); err != nil {
				return err
			}
		}
		if !files {
			return nil
		}
		tick := int64(0)
		if b, err := dr.f.view.vlvalue(tickValue, dr.f.o); err == nil {
			v, err := msgpack.Decode(b)
			if err != nil {
				return err
			}
			tick, _ = v.(int64)
		}
		b, err := msgpack.Append(nil, tick+1)
		if err != nil {
			return err
		}
		return dr.setVL(tickValue, b)
	})
}

// writable returns the directory to write a key to.
func (d *DictStore) writable(key string) (*directory, error) {
	if err := CheckKey(key); err != nil || key == "/" {
		return nil, fault.New(fault.ErrInvalid, "key", key, "")
	}
	for part := range strings.SplitSeq(key[1:], "/") {
		if part == "." || part == ".." {
			return nil, fault.New(fault.ErrInvalid, "key", key, "leads elsewhere")
		}
	}
	dir, ok := d.files.(*directory)
	if !ok || !d.o.Write {
		return nil, fault.New(fault.ErrReadOnly, "blosc2", d.name, "not open for writing")
	}
	return dir, nil
}

// Put is DictStore's. ErrInvalid for a key that leads through a leaf, or that
// other keys lead through: a node is either.
func (t *TreeStore) Put(ctx context.Context, key string, c Container) error {
	key = rooted(key)
	return t.d.put(ctx, key, c, func(d *DictStore) error { return d.passable(ctx, key) })
}

// passable returns ErrInvalid for a key of a tree that leads through a leaf,
// or that other keys lead through. The metadata of a node are no other key.
func (d *DictStore) passable(ctx context.Context, key string) error {
	keys, err := d.keys(ctx)
	if err != nil {
		return err
	}
	for _, other := range keys {
		if strings.HasPrefix(other, key+"/") && other != key+"/"+vlmetaLeaf || strings.HasPrefix(key, other+"/") {
			return fault.New(fault.ErrInvalid, "key", key, "a node is a leaf or has others below it: "+other)
		}
	}
	return nil
}

// mkdirs makes the directories of a path below base.
func mkdirs(ctx context.Context, fs storage.FS, base, dirs string) error {
	if dirs == "." {
		return nil
	}
	for part := range strings.SplitSeq(dirs, "/") {
		base = join(base, part)
		if err := fs.Mkdir(ctx, base); err != nil && !errors.Is(err, fault.ErrExists) {
			return err
		}
	}
	return nil
}
