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

const embedFile = "embed.b2e" // of a DictStore

// leafExtensions are those of files that are leaves whatever is in them.
var leafExtensions = []string{".b2nd", ".b2f", ".b2b"}

// DictStore is frames under keys: small ones embedded, the others files of
// their own, in a directory or a zip. Safe for concurrent use.
type DictStore struct {
	name      string
	o         Options
	embed     *EmbedStore
	files     leafFiles
	threshold int64 // see StoreSpec
}

// leafFiles are the files of a store. Names are relative to it.
type leafFiles interface {
	// list returns all files at any depth.
	list(ctx context.Context) ([]string, error)
	// place is where a file is, in which a frame may be. ErrNotFound.
	place(name string) (place, error)
	close() error
}

func newDictStore(ctx context.Context, name string, files leafFiles, o Options) (*DictStore, error) {
	where, err := files.place(embedFile)
	if err != nil {
		return nil, err
	}
	c, err := openLeaf(ctx, where, o)
	if err != nil {
		return nil, err
	}
	embed, ok := c.(*EmbedStore)
	if !ok {
		return nil, errors.Join(fault.New(fault.ErrCorrupt, "blosc2", join(name, embedFile), "is no store of frames"), c.Close())
	}
	o.made = false
	return &DictStore{name: name, o: o, embed: embed, files: files}, nil
}

// openStoreDirectory opens a DictStore, or the TreeStore that it is.
func openStoreDirectory(ctx context.Context, fs storage.FS, name string, o Options) (Container, error) {
	d, err := newDictStore(ctx, name, &directory{fs, name}, o)
	if err != nil {
		return nil, err
	}
	if o.Write {
		sweep(ctx, fs, name)
	}
	return d.orTree(), nil
}

func (d *DictStore) orTree() Container {
	if _, err := d.embed.s.Metalayer(treeLayer); err == nil {
		return &TreeStore{d}
	}
	return d
}

// Kind is "dictstore".
func (d *DictStore) Kind() string { return "dictstore" }

// Embedded returns the part that is in embed.b2e. Closing it closes the store.
func (d *DictStore) Embedded() *EmbedStore { return d.embed }

// Close closes the store, not what Get opened. Closing twice is fine.
func (d *DictStore) Close() error { return errors.Join(d.embed.Close(), d.files.close()) }

// Refresh takes over what changed in embed.b2e. Files are looked for anew
// whenever they are asked for.
func (d *DictStore) Refresh(ctx context.Context) (bool, error) { return d.embed.Refresh(ctx) }

// over is the store by another way to its frame.
func (d *DictStore) over(f *frame) *DictStore {
	o := *d
	o.embed = newEmbedStore(&SChunk{f})
	return &o
}

// held calls do with the store while its lock is held.
func (d *DictStore) held(ctx context.Context, m storage.LockMode, do func(held *DictStore) error) error {
	return d.embed.s.f.held(ctx, m, func(f *frame) error { return do(d.over(f)) })
}

// Keys returns the keys that there are now, sorted. ErrCorrupt, ErrClosed, and
// the errors of the file system.
func (d *DictStore) Keys(ctx context.Context) (keys []string, err error) {
	err = d.held(ctx, storage.LockShared, func(d *DictStore) error {
		keys, err = d.keys(ctx)
		return err
	})
	return keys, err
}

func (d *DictStore) keys(ctx context.Context) ([]string, error) {
	keys, err := d.embed.Keys(ctx)
	if err != nil {
		return nil, err
	}
	if p, ok := d.files.(*pinnedFiles); ok {
		keys = append(keys, p.keys()...)
	}
	leaves, err := d.leaves(ctx)
	if err != nil {
		return nil, err
	}
	for key := range leaves {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// leaves returns the names of the files that are leaves, by key.
func (d *DictStore) leaves(ctx context.Context) (map[string]string, error) {
	if _, err := d.embed.s.f.state(); err != nil {
		return nil, err
	}
	files, err := d.files.list(ctx)
	if err != nil {
		return nil, err
	}
	leaves := map[string]string{}
	for _, name := range files {
		if dir, ok := d.files.(*directory); ok && d.o.Write && isSibling(name) {
			cleared(ctx, dir.fs, join(dir.name, name), false)
			continue
		}
		key := leafKey(name)
		if key == "" || CheckKey(key) != nil {
			continue
		}
		if !slices.Contains(leafExtensions, path.Ext(name)) && !d.probe(ctx, name) {
			continue
		}
		leaves[key] = name
	}
	return leaves, nil
}

// leafKey is the key of a file, "" for one that is never a leaf: the embedded
// part, locks, and what writers left behind.
func leafKey(name string) string {
	ext := path.Ext(name)
	if name == embedFile || isLock(name) || ext == ".tmp" {
		return ""
	}
	return "/" + strings.TrimSuffix(name, ext)
}

// probe reports whether a file of no known extension holds a frame.
func (d *DictStore) probe(ctx context.Context, name string) bool {
	where, err := d.place(name)
	if err != nil {
		return false
	}
	f, err := openFrame(ctx, where, d.o)
	if err != nil {
		return false
	}
	return f.close() == nil
}

// Get opens what lies under a key; a file goes before what is embedded under
// the same. Close it before the store. It stays what it is when the key is given
// another value, or removed; writing to it is ErrStale then. Where the store is
// locked, what Get returns is locked with it. ErrNotFound; the errors of Open.
func (d *DictStore) Get(ctx context.Context, key string) (c Container, err error) {
	err = d.held(ctx, storage.LockShared, func(held *DictStore) error {
		c, err = held.get(ctx, key, d.embed.s)
		return err
	})
	if f, _ := within(c); err == nil && f != nil {
		f.hold = d.embed.s.f.hold
	}
	return c, err
}

func (d *DictStore) get(ctx context.Context, key string, from *SChunk) (Container, error) {
	if err := CheckKey(key); err != nil {
		return nil, noKey(key)
	}
	if p, ok := d.files.(*pinnedFiles); ok {
		if c, err := p.get(key); !errors.Is(err, fault.ErrNotFound) {
			return c, err
		}
	}
	for _, ext := range leafExtensions {
		where, err := d.place(strings.TrimPrefix(key, "/") + ext)
		if err == nil {
			var c Container
			if c, err = openLeaf(ctx, where, d.o); err == nil {
				return c, nil
			}
		}
		if !errors.Is(err, fault.ErrNotFound) {
			return nil, err
		}
	}
	c, err := d.embed.get(ctx, key, from)
	if !errors.Is(err, fault.ErrNotFound) {
		return c, err
	}
	leaves, listErr := d.leaves(ctx) // of other extensions
	if errors.Is(listErr, errors.ErrUnsupported) {
		return nil, err
	}
	if listErr != nil {
		return nil, listErr
	}
	if name, ok := leaves[key]; ok {
		where, err := d.place(name)
		if err != nil {
			return nil, err
		}
		return openLeaf(ctx, where, d.o)
	}
	return nil, err
}

// place is where a file of the store is, with the store's lock.
func (d *DictStore) place(name string) (place, error) {
	where, err := d.files.place(name)
	if err == nil && where.fs != nil {
		where.lock, where.hold, where.kept = d.embed.s.f.lock, d.embed.s.f.hold, true
	}
	return where, err
}

// directory is the files of a store in a directory.
type directory struct {
	fs   storage.FS
	name string
}

func (d *directory) close() error { return nil }

func (d *directory) place(name string) (place, error) {
	return place{fs: d.fs, name: join(d.name, name), size: -1}, nil
}

// maxFiles bounds how many files of a store are listed.
const maxFiles = 1 << 22

func (d *directory) list(ctx context.Context) ([]string, error) {
	var files []string
	dirs := []string{""}
	for len(dirs) > 0 {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		names, err := d.fs.List(ctx, strings.TrimSuffix(join(d.name, dir), "/"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if sub, ok := strings.CutSuffix(name, "/"); ok {
				dirs = append(dirs, dir+sub+"/")
			} else {
				files = append(files, dir+name)
			}
		}
		if len(files)+len(dirs) > maxFiles {
			return nil, overLimit("a store of more than 4 Mi files")
		}
	}
	return files, nil
}
