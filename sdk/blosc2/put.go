package blosc2

import (
	"context"
	"slices"

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
	return e.put(ctx, key, c, false)
}

func (e *EmbedStore) put(ctx context.Context, key string, c Container, replace bool) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	b, err := cframe(ctx, c)
	if err != nil {
		return err
	}
	return e.embed(ctx, key, b, replace)
}

// embed puts the bytes of a frame under a key.
func (e *EmbedStore) embed(ctx context.Context, key string, b []byte, replace bool) error {
	return e.s.f.change(ctx, func(d *draft) error {
		m, err := e.embeddedIn(d)
		if err != nil {
			return err
		}
		if _, ok := m[key]; ok && !replace {
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
	m, err := d.f.view.embedMap(d.f.o)
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
		d, err := (&frame{body: &body{view: v, where: s.f.where, o: s.f.o}}).draft(ctx)
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
