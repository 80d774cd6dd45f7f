package blosc2

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/sdk/blosc2/msgpack"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

const (
	embedLayer = "b2embed"
	dictLayer  = "b2dict" // the embedded part of a DictStore
	treeLayer  = "b2tree" // that of a TreeStore
	mapLayer   = "estore_metadata"
)

// EmbedStore is frames under keys, in the decoded bytes of one frame. Safe for
// concurrent use.
type EmbedStore struct{ s *SChunk }

func newEmbedStore(s *SChunk) *EmbedStore { return &EmbedStore{s} }

// Kind is "embedstore".
func (e *EmbedStore) Kind() string { return "embedstore" }

// SChunk returns the frame that the store lies in. Closing either closes
// both.
func (e *EmbedStore) SChunk() *SChunk { return e.s }

// Close closes the store, not what Get opened. Closing twice is fine.
func (e *EmbedStore) Close() error { return e.s.Close() }

// Refresh is SChunk's.
func (e *EmbedStore) Refresh(ctx context.Context) (bool, error) { return e.s.Refresh(ctx) }

// Keys returns the keys that there are now, sorted. ErrCorrupt, and the errors
// of SChunk.Refresh.
func (e *EmbedStore) Keys(ctx context.Context) ([]string, error) {
	m, err := e.embedded(ctx)
	if err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, nil
}

// Get opens what lies under a key, for reading. It reads through the store, so closing the
// store closes it too; close it before. What is under a key never changes, so
// it stays what it is when the key is removed. ErrNotFound; ErrUnsupported for
// an array that is elsewhere on the network; the errors of Open.
func (e *EmbedStore) Get(ctx context.Context, key string) (c Container, err error) {
	err = e.s.f.held(ctx, storage.LockShared, func(f *frame) error {
		c, err = newEmbedStore(&SChunk{f}).get(ctx, key, e.s)
		return err
	})
	return c, err
}

// get is Get for what is read through from afterwards.
func (e *EmbedStore) get(ctx context.Context, key string, from *SChunk) (Container, error) {
	m, err := e.embedded(ctx)
	if err != nil {
		return nil, err
	}
	p, ok := m[key]
	switch {
	case !ok:
		return nil, noKey(key)
	case p.remote:
		return nil, fault.New(fault.ErrUnsupported, "key", key, "is a remote array, which is not fetched")
	}
	o := e.s.f.o
	o.Write, o.Locking = false, Unlocked
	file := &decodedFile{context.WithoutCancel(ctx), e.s}
	c, err := openLeaf(ctx, place{file: file, name: key, off: p.off, size: p.n}, o)
	file.s = from
	return c, err
}

// embedding is where the frame of a key is in the decoded bytes.
type embedding struct {
	off, n int64
	remote bool // or elsewhere
}

// embedded reads the map.
func (e *EmbedStore) embedded(ctx context.Context) (m map[string]embedding, err error) {
	err = e.s.f.read(ctx, func(v *view) error {
		m, err = v.embedMap(e.s.f.o)
		return err
	})
	return m, err
}

func (v *view) embedMap(o Options) (map[string]embedding, error) {
	b, err := v.vlvalue(mapLayer, o)
	if errors.Is(err, fault.ErrNotFound) { // a store has one: this is no key that is missing
		return nil, fault.New(fault.ErrCorrupt, "embedded keys", "", "there is no map of them")
	}
	if err != nil {
		return nil, err
	}
	return parseEmbedMap(b, v.Size)
}

// parseEmbedMap reads {"embed_map": {KEY: {"offset": o, "length": n}}, …} of a
// store of size bytes.
func parseEmbedMap(b []byte, size int64) (map[string]embedding, error) {
	bad := func(key, why string) error { return fault.New(fault.ErrCorrupt, "embedded keys", key, why) }
	v, err := msgpack.Decode(b)
	if err != nil {
		return nil, err
	}
	outer, _ := v.(msgpack.Map)
	inner, _ := outer.Get("embed_map")
	entries, ok := inner.(msgpack.Map)
	if !ok {
		return nil, bad("", "there is no map of them")
	}
	m := make(map[string]embedding, len(entries))
	for _, e := range entries {
		key, ok := e.Key.(string)
		where, isMap := e.Value.(msgpack.Map)
		if !ok || !isMap {
			return nil, bad(key, "an entry of another kind")
		}
		if CheckKey(key) != nil {
			return nil, bad(key, "not well formed")
		}
		if _, remote := where.Get("urlbase"); remote {
			m[key] = embedding{remote: true}
			continue
		}
		off, n := whole(where, "offset"), whole(where, "length")
		if off < 0 || n < 0 || n > size || off > size-n {
			return nil, bad(key, "lies outside the store")
		}
		m[key] = embedding{off: off, n: n}
	}
	return m, nil
}

// whole returns a number that is not negative, or -1.
func whole(m msgpack.Map, name string) int64 {
	v, _ := m.Get(name)
	n, ok := v.(int64)
	if !ok || n > math.MaxInt64/2 {
		return -1
	}
	return n
}

// CheckKey returns ErrInvalid unless key can be one of a store: it begins with
// a slash, ends in none, has no empty parts, and no colon, NUL, LF, CR or TAB.
func CheckKey(key string) error {
	if key != "/" && (!strings.HasPrefix(key, "/") || strings.HasSuffix(key, "/") || strings.Contains(key, "//")) ||
		strings.ContainsAny(key, ":\x00\n\r\t") {
		return fault.New(fault.ErrInvalid, "key", key, "")
	}
	return nil
}

func noKey(key string) error { return fault.New(fault.ErrNotFound, "key", key, "") }

// decodedFile is the decoded bytes of a frame as a file to read. It keeps a
// context because io.ReaderAt has no room for one.
type decodedFile struct {
	ctx context.Context
	s   *SChunk
}

// ReadAt is io.ReaderAt's.
func (f *decodedFile) ReadAt(p []byte, off int64) (int, error) {
	if rest := f.s.Header().Size - off; rest < int64(len(p)) {
		return 0, corrupt(off, "ends early")
	}
	if err := f.s.ReadBytes(f.ctx, off, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Stat tells the size only.
func (f *decodedFile) Stat() (storage.FileInfo, error) {
	_, err := f.s.f.state()
	return storage.FileInfo{Size: f.s.Header().Size, Links: 1}, err
}

// Close does nothing: the store closes the frame.
func (f *decodedFile) Close() error { return nil }
