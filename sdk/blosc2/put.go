package blosc2

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/sdk/blosc2/msgpack"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// embedChunk is the chunk size of embedded stores, that of python-blosc2.
const embedChunk = 8 << 10

// versionLayer is the value of the metalayer that says what a store is.
var versionLayer = []byte("\x81\xa7version\x01")

// CreateEmbedStore makes an empty store in a file and opens it for writing.
// Errors are those of CreateSChunk.
func CreateEmbedStore(ctx context.Context, fs storage.FS, name string, o Options) (*EmbedStore, error) {
	return createEmbedded(ctx, fs, name, embedLayer, o)
}

func createEmbedded(ctx context.Context, fs storage.FS, name, layer string, o Options) (*EmbedStore, error) {
	c, err := create(ctx, fs, name, Spec{
		ChunkSize: embedChunk, Params: blosc.Params{TypeSize: 1, Codec: blosc.Zstd, Level: 5, Filters: []blosc.Filter{5: {ID: blosc.Shuffle}}},
		Meta: []Metalayer{{layer, versionLayer}},
		Fill: func(ctx context.Context, c Container) error {
			return c.(*EmbedStore).s.f.change(ctx, func(d *draft) error { return d.setMap(nil, 0) })
		},
	}, nil, o)
	if err != nil {
		return nil, err
	}
	return c.(*EmbedStore), nil
}

// Put stores a copy of a frame, an *SChunk or *NDArray, under a key, without
// its dead bytes. ErrExists for a key that is there, ErrInvalid for one that
// is not well formed, ErrReadOnly.
func (e *EmbedStore) Put(ctx context.Context, key string, c Container) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	b, err := cframe(ctx, c)
	if err != nil {
		return err
	}
	return e.s.f.change(ctx, func(d *draft) error {
		m, err := e.embeddedIn(d)
		if err != nil {
			return err
		}
		if _, ok := m[key]; ok {
			return fault.New(fault.ErrExists, "key", key, "")
		}
		at := d.Size
		if err := d.append(ctx, b); err != nil {
			return err
		}
		m[key] = embedding{off: at, n: int64(len(b))}
		return d.setMap(m, d.Size)
	})
}

// Delete removes a key; its bytes stay where they are, dead. ErrNotFound,
// ErrReadOnly.
func (e *EmbedStore) Delete(ctx context.Context, key string) error {
	return e.s.f.change(ctx, func(d *draft) error {
		m, err := e.embeddedIn(d)
		if err != nil {
			return err
		}
		if _, ok := m[key]; !ok {
			return noKey(key)
		}
		delete(m, key)
		return d.setMap(m, d.Size)
	})
}

// embeddedIn reads the map of a draft's state.
func (e *EmbedStore) embeddedIn(d *draft) (map[string]embedding, error) {
	b, err := d.f.view.vlvalue(mapLayer, d.f.o)
	if err != nil {
		return nil, err
	}
	m, err := parseEmbedMap(b, d.Size)
	for key, at := range m {
		if at.remote { // its reference would have to be kept
			return nil, fault.New(fault.ErrUnsupported, "key", key, "a store with remote arrays is not written to")
		}
	}
	return m, err
}

// setMap writes the map of an embedded store.
func (d *draft) setMap(m map[string]embedding, end int64) error {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int { return int(min(max(m[a].off-m[b].off, -1), 1)) })
	entries := msgpack.Map{}
	for _, key := range keys {
		entries = append(entries, msgpack.Entry{Key: key, Value: msgpack.Map{{Key: "offset", Value: m[key].off}, {Key: "length", Value: m[key].n}}})
	}
	b, err := msgpack.Append(nil, msgpack.Map{{Key: "embed_map", Value: entries}, {Key: "current_offset", Value: end}})
	if err != nil {
		return err
	}
	return d.setVL(mapLayer, b)
}

// cframe is a frame as bytes: contiguous, without dead ones.
func cframe(ctx context.Context, c Container) ([]byte, error) {
	var s *SChunk
	switch c := c.(type) {
	case *SChunk:
		s = c
	case *NDArray:
		s = c.s
	default:
		return nil, fault.New(fault.ErrInvalid, "blosc2", "", "a "+c.Kind()+" is no leaf")
	}
	fs := storage.NewMemoryFS(4 << 30)
	f, err := fs.Open(ctx, "frame", storage.OpenRead|storage.OpenWrite|storage.OpenCreate)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := s.copyTo(ctx, f); err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return readAt(f, 0, info.Size)
}

// copyTo writes a contiguous copy of the frame to an empty file.
func (s *SChunk) copyTo(ctx context.Context, f storage.File) error {
	return s.f.read(ctx, func(v *view) error {
		d, err := (&frame{view: v, where: s.f.where, o: s.f.o}).draft()
		if err != nil {
			return err
		}
		if d.Sparse {
			d.Sparse = false
			d.raw = slices.Clone(d.raw)
			d.raw[26] = 0
		}
		return d.rewrite(ctx, f)
	})
}

// Put stores a copy of a frame, an *SChunk or *NDArray, under a key: embedded
// or as a file of its own, by its size. What was there is replaced. ErrInvalid
// for a key that is not well formed; ErrReadOnly for a zip, and if the store
// was not opened with Options.Write.
func (d *DictStore) Put(ctx context.Context, key string, c Container) error {
	dir, err := d.writable(key)
	if err != nil {
		return err
	}
	size, ext := int64(0), ".b2f"
	switch c := c.(type) {
	case *NDArray:
		size, ext = c.s.Header().Size, ".b2nd"
	case *SChunk:
		size = c.Header().Size
		if c.Kind() == "batcharray" {
			ext = ".b2b"
		}
	default:
		return fault.New(fault.ErrInvalid, "blosc2", "", "a "+c.Kind()+" is no leaf")
	}
	if d.threshold < 0 || size < d.threshold {
		if err := d.Delete(ctx, key); err != nil && !errors.Is(err, fault.ErrNotFound) {
			return err
		}
		return d.embed.Put(ctx, key, c)
	}
	s, ok := c.(*SChunk)
	if a, isArray := c.(*NDArray); isArray {
		s, ok = a.s, true
	}
	if !ok {
		return fault.New(fault.ErrInvalid, "blosc2", "", "no leaf")
	}
	name := join(dir.name, strings.TrimPrefix(key, "/")+ext)
	if err := mkdirs(ctx, dir.fs, dir.name, path.Dir(strings.TrimPrefix(key, "/"))); err != nil {
		return err
	}
	err = replace(ctx, dir.fs, name, d.o.Durability, false, func(f storage.File) error { return s.copyTo(ctx, f) })
	if err != nil {
		return err
	}
	for _, other := range leafExtensions { // of another kind, under the same key
		if other != ext {
			err := dir.fs.Remove(ctx, strings.TrimSuffix(name, ext)+other)
			if err != nil && !errors.Is(err, fault.ErrNotFound) {
				return err
			}
		}
	}
	if err := d.embed.Delete(ctx, key); err != nil && !errors.Is(err, fault.ErrNotFound) {
		return err
	}
	return nil
}

// Delete removes what lies under a key. ErrNotFound, ErrReadOnly.
func (d *DictStore) Delete(ctx context.Context, key string) error {
	dir, err := d.writable(key)
	if err != nil {
		return err
	}
	found := false
	leaves, err := d.leaves(ctx)
	if err != nil {
		return err
	}
	if name, ok := leaves[key]; ok {
		found = true
		if err := dir.fs.Remove(ctx, join(dir.name, name)); err != nil {
			return err
		}
	}
	err = d.embed.Delete(ctx, key)
	if found && errors.Is(err, fault.ErrNotFound) {
		return nil
	}
	return err
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
	keys, err := t.d.Keys(ctx)
	if err != nil {
		return err
	}
	for _, other := range keys {
		if strings.HasPrefix(other, key+"/") && other != key+"/"+vlmetaLeaf || strings.HasPrefix(key, other+"/") {
			return fault.New(fault.ErrInvalid, "key", key, "a node is a leaf or has others below it: "+other)
		}
	}
	return t.d.Put(ctx, key, c)
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
