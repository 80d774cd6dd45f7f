package blosc2

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Snapshot returns the store as it is now, to be read for as long as it is
// open, whatever is written meanwhile: its keys, what lies under them, and of a
// tree the metadata. It keeps a file open for each leaf that is one. The lock of
// the store is shared until it returns, and not after; of an unlocked store it
// is one state only if nobody writes meanwhile. Close it before a store that is
// a zip. Otherwise it is as SChunk.Snapshot.
func (d *DictStore) Snapshot(ctx context.Context) (*DictStore, error) {
	var s *DictStore
	err := d.held(ctx, storage.LockShared, func(held *DictStore) (err error) {
		s, err = held.snapshot(ctx)
		return err
	})
	return s, err
}

// Snapshot is DictStore's.
func (t *TreeStore) Snapshot(ctx context.Context) (*TreeStore, error) {
	d, err := t.d.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return &TreeStore{d}, nil
}

func (d *DictStore) snapshot(ctx context.Context) (_ *DictStore, err error) {
	o := d.o
	o.Write, o.Locking = false, Unlocked
	files := &pinnedFiles{leaves: map[string]*SChunk{}, names: map[string]string{}}
	s := &DictStore{name: d.name, o: o, files: files}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.embed, err = d.embed.Snapshot(ctx); err != nil {
		return nil, errors.Join(err, files.close())
	}
	leaves, err := d.leaves(ctx)
	if err != nil {
		return nil, err
	}
	for key, name := range leaves {
		where, err := d.files.place(name)
		if err != nil {
			return nil, err
		}
		where.pinned = true
		f, err := openFrame(ctx, where, o)
		if err != nil {
			return nil, err
		}
		f.view.file = &several{source: f.view.file, users: 1}
		files.leaves[key], files.names[key] = &SChunk{f}, name
	}
	return s, nil
}

// pinnedFiles are the leaves of a snapshot, open since it was taken, and the
// names that their files had, both by key.
type pinnedFiles struct {
	leaves map[string]*SChunk
	names  map[string]string
}

func (p *pinnedFiles) close() error {
	var err error
	for _, s := range p.leaves {
		err = errors.Join(err, s.Close())
	}
	return err
}

func (p *pinnedFiles) list(context.Context) ([]string, error) { return nil, nil }

func (p *pinnedFiles) place(name string) (place, error) {
	return place{}, fault.New(fault.ErrNotFound, "blosc2", name, "a snapshot has no files")
}

// keys are those of the leaves, sorted.
func (p *pinnedFiles) keys() []string { return slices.Sorted(maps.Keys(p.leaves)) }

// with gives do the bytes of a file as they were. ErrStale if they are not
// there any more.
func (p *pinnedFiles) with(ctx context.Context, embed *SChunk, name string, do func(r io.ReaderAt, size int64) error) error {
	s := embed
	if name != embedFile {
		s = p.leaves[leafKey(name)]
	}
	return s.f.read(ctx, func(v *view) error { return do(asItWas{v}, v.FrameLen) })
}

// asItWas is the bytes of a contiguous frame in a state of which the file has
// all but the header, which belongs to the newest.
type asItWas struct{ v *view }

// ReadAt is io.ReaderAt's.
func (r asItWas) ReadAt(b []byte, off int64) (int, error) {
	n := 0
	if off < int64(len(r.v.raw)) {
		n = copy(b, r.v.raw[off:])
	}
	if n == len(b) {
		return n, nil
	}
	k, err := r.v.file.ReadAt(b[n:], r.v.where.off+off+int64(n))
	return n + k, err
}

// get opens a leaf once more. ErrNotFound.
func (p *pinnedFiles) get(key string) (Container, error) {
	s, ok := p.leaves[key]
	if !ok {
		return nil, noKey(key)
	}
	v, err := s.f.state()
	if err != nil {
		return nil, err
	}
	v.file.(*several).add()
	b := &body{where: s.f.where, o: s.f.o, clock: s.f.clock, view: v}
	b.seen.Store(s.f.seen.Load())
	return leafFrom(&frame{body: b})
}

// several is a file that is closed by the last of those who use it.
type several struct {
	source
	mu    sync.Mutex
	users int
}

func (s *several) add() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users++
}

// Close is the end of one use.
func (s *several) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return nil
	}
	return s.source.Close()
}
