package host

import (
	"context"
	"errors"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Place is a name below something that is granted. Nothing of it is looked at
// before it is opened. There is nothing to close.
type Place struct {
	sandbox *Sandbox
	store   storage.Store
	fs      storage.FS // nil: it is a URL
	path    string     // in both
}

// roots are the granted directories that are in use.
type roots struct {
	mu     sync.Mutex
	open   map[string]*root
	closed bool
}

type root struct {
	fs    *file.FS
	store *file.Store
}

// At finds a name below what Config.Grants grants: a path of this machine, or
// an http or https URL. ErrNotAllowed for all others, whether there is anything
// or not. A link that leads out of its granted directory is ErrNotAllowed when
// the place is opened, whatever it leads to.
func (s *Sandbox) At(name string) (*Place, error) {
	if s.config.Grants == nil {
		return nil, fault.New(fault.ErrNotAllowed, "sandbox", name, "nothing is granted")
	}
	if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
		u, err := url.Parse(name)
		if err != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, fault.New(fault.ErrInvalid, "sandbox", "", "not a URL, or one with a query")
		}
		base, rest, ok := s.config.Grants.granted(u)
		if !ok {
			return nil, s.config.Grants.AllowURL(u)
		}
		if rest, err = url.PathUnescape(rest); err != nil {
			return nil, fault.New(fault.ErrInvalid, "sandbox", "", "not a URL")
		}
		return &Place{sandbox: s, store: s.HTTP(base, HTTPOptions{}), path: strings.TrimSuffix(rest, "/")}, nil
	}
	if name == "" {
		return nil, fault.New(fault.ErrInvalid, "sandbox", "", "no name")
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, fault.New(fault.ErrInvalid, "sandbox", name, err.Error())
	}
	dir, rest, ok := below(s.granted, abs)
	if !ok {
		return nil, fault.New(fault.ErrNotAllowed, "sandbox", name, "in no directory that is granted")
	}
	r, err := s.roots.get(dir.path)
	if err != nil {
		return nil, err
	}
	p := &Place{sandbox: s, store: r.store, fs: r.fs, path: rest}
	if !dir.write {
		p.fs = readOnly{r.fs}
	}
	return p, nil
}

func (r *roots) get(dir string) (*root, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed("sandbox")
	}
	if at := r.open[dir]; at != nil {
		return at, nil
	}
	fs, err := file.OpenFS(dir)
	if err != nil {
		return nil, err
	}
	store, err := file.Open(dir, file.Options{})
	if err != nil {
		return nil, errors.Join(err, fs.Close())
	}
	if r.open == nil {
		r.open = map[string]*root{}
	}
	r.open[dir] = &root{fs, store}
	return r.open[dir], nil
}

func (r *roots) close() (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, at := range r.open {
		err = errors.Join(err, at.fs.Close(), at.store.Close())
	}
	r.open, r.closed = nil, true
	return err
}

// Store is what the place lies in, and its path there.
func (p *Place) Store() (storage.Store, string) { return p.store, p.path }

// FS is the file system that the place lies in, and its path there. nil for a
// URL.
func (p *Place) FS() (storage.FS, string) { return p.fs, p.path }

// Open is [Sandbox.Open].
func (p *Place) Open(ctx context.Context, o OpenOptions) (Node, error) {
	return p.sandbox.Open(ctx, p.store, p.path, o)
}

// OpenArray is [Sandbox.OpenArray].
func (p *Place) OpenArray(ctx context.Context, o OpenOptions) (*Array, error) {
	return p.sandbox.OpenArray(ctx, p.store, p.path, o)
}

// OpenContainer is [Sandbox.OpenContainer]; at a URL it is opened to be read.
func (p *Place) OpenContainer(ctx context.Context, o ContainerOptions) (*Container, error) {
	if p.fs != nil {
		return p.sandbox.OpenContainer(ctx, p.fs, p.path, o)
	}
	if o != (ContainerOptions{}) {
		return nil, fault.New(fault.ErrUnsupported, "sandbox", p.path, "a container at a URL is only read, and never locked")
	}
	return p.sandbox.OpenContainerObject(ctx, p.store, p.path)
}

// OpenStack opens a file of images.
func (p *Place) OpenStack(ctx context.Context, o image.FilesOptions) (*Stack, error) {
	files := p.sandbox.ImageObjects(p.store, o)
	if p.fs != nil {
		files = p.sandbox.Images(p.fs, o)
	}
	r, err := files.Open(ctx, p.path)
	if err != nil {
		return nil, err
	}
	return r.(*Stack), nil
}

// Join is the place of a name below p. ErrInvalid for one that leads elsewhere.
func (p *Place) Join(name string) (*Place, error) {
	if err := storage.CheckKey(name); err != nil {
		return nil, err
	}
	below := *p
	below.path = path.Join(p.path, name)
	return &below, nil
}

// readOnly is a file system of which nothing can be changed, or locked.
type readOnly struct{ storage.FS }

func (r readOnly) Open(ctx context.Context, name string, flags storage.OpenFlag) (storage.File, error) {
	if flags&^storage.OpenRead != 0 {
		return nil, notGranted(name)
	}
	f, err := r.FS.Open(ctx, name, flags)
	if err != nil {
		return nil, err
	}
	return unlockable{f}, nil
}

// unlockable is a file of which no part can be locked.
type unlockable struct{ storage.File }

func (unlockable) LockRange(int64, storage.LockMode) (func() error, error) {
	return nil, fault.New(fault.ErrUnsupported, "sandbox", "", "locking is not granted")
}

func (readOnly) Rename(_ context.Context, from, _ string) error          { return notGranted(from) }
func (readOnly) RenameNoReplace(_ context.Context, from, _ string) error { return notGranted(from) }
func (readOnly) Remove(_ context.Context, name string) error             { return notGranted(name) }
func (readOnly) Mkdir(_ context.Context, name string) error              { return notGranted(name) }
func (readOnly) SyncDir(_ context.Context, name string) error            { return notGranted(name) }
func (readOnly) Locker() storage.Locker                                  { return noLocks{} }

type noLocks struct{}

func (noLocks) Lock(_ context.Context, name string, _ storage.Owner, _ storage.LockMode) (func() error, error) {
	return nil, notGranted(name)
}

func notGranted(name string) error {
	return fault.New(fault.ErrNotAllowed, "sandbox", name, "writing and locking are not granted")
}
