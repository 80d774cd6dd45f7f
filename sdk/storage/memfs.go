package storage

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
)

// MemoryFS is an FS in memory. Files live as long as a name or an open file
// leads to them. Safe for concurrent use.
type MemoryFS struct {
	capacity int64
	dev      uint64

	mu    sync.Mutex
	used  int64
	inos  uint64
	names map[string]*memoryNode // "" is the root
}

// memoryNode is one file or directory; guarded by the lock of its FS.
type memoryNode struct {
	dev     uint64
	ino     uint64
	dir     bool
	links   uint64
	opened  int
	data    pages
	changed time.Time
	locks   map[int64]map[*memoryFile]LockMode
}

// memoryFSs numbers them, so that no two files of a process are one.
var memoryFSs atomic.Uint64

// NewMemoryFS returns an empty file system for capacity bytes; 0: 1 GiB.
func NewMemoryFS(capacity int64) *MemoryFS {
	if capacity == 0 {
		capacity = 1 << 30
	}
	dev := memoryFSs.Add(1)
	return &MemoryFS{capacity: capacity, dev: dev, inos: 1, names: map[string]*memoryNode{"": {dev: dev, ino: 1, dir: true, links: 1}}}
}

// Open is FS's.
func (m *MemoryFS) Open(ctx context.Context, name string, flags OpenFlag) (File, error) {
	if err := m.enter(ctx, name, false); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	n := m.names[name]
	switch {
	case n == nil && flags&OpenCreate == 0:
		return nil, NoFile(name)
	case n == nil:
		if err := m.parent(name); err != nil {
			return nil, err
		}
		n = m.make(name, false)
	case flags&OpenCreate != 0 && flags&OpenExclusive != 0:
		return nil, FileExists(name)
	case n.dir:
		return nil, fault.New(fault.ErrIO, "file", name, "is a directory")
	case flags&OpenTruncate != 0:
		m.used -= n.data.size
		n.data, n.changed = pages{}, time.Now()
	}
	n.opened++
	return &memoryFile{fs: m, node: n, name: name, write: flags&OpenWrite != 0}, nil
}

// Stat is FS's.
func (m *MemoryFS) Stat(ctx context.Context, name string) (FileInfo, error) {
	if err := m.enter(ctx, name, true); err != nil {
		return FileInfo{}, err
	}
	defer m.mu.Unlock()
	n := m.names[name]
	if n == nil {
		return FileInfo{}, NoFile(name)
	}
	return n.info(), nil
}

// Rename is FS's.
func (m *MemoryFS) Rename(ctx context.Context, from, to string) error {
	return m.rename(ctx, from, to, true)
}

// RenameNoReplace is FS's.
func (m *MemoryFS) RenameNoReplace(ctx context.Context, from, to string) error {
	return m.rename(ctx, from, to, false)
}

func (m *MemoryFS) rename(ctx context.Context, from, to string, replace bool) error {
	if err := CheckKey(to); err != nil {
		return err
	}
	if err := m.enter(ctx, from, false); err != nil {
		return err
	}
	defer m.mu.Unlock()
	n, old := m.names[from], m.names[to]
	if n == nil {
		return NoFile(from)
	}
	if err := m.parent(to); err != nil {
		return err
	}
	switch {
	case old != nil && !replace:
		return FileExists(to)
	case old == n:
		return nil
	case strings.HasPrefix(to, from+"/"):
		return fault.New(fault.ErrInvalid, "file", to, "lies within what is renamed")
	case old != nil && old.dir:
		return FileExists(to)
	case old != nil && n.dir:
		return fault.New(fault.ErrIO, "file", to, "a file is not a directory")
	case old != nil:
		m.unlink(to, old)
	}
	moved := m.below(from)
	delete(m.names, from)
	m.names[to] = n
	for _, name := range moved {
		m.names[to+name[len(from):]] = m.names[name]
		delete(m.names, name)
	}
	return nil
}

// Remove is FS's.
func (m *MemoryFS) Remove(ctx context.Context, name string) error {
	if err := m.enter(ctx, name, false); err != nil {
		return err
	}
	defer m.mu.Unlock()
	n := m.names[name]
	switch {
	case n == nil:
		return NoFile(name)
	case n.dir && len(m.below(name)) > 0:
		return fault.New(fault.ErrExists, "file", name, "directory not empty")
	}
	m.unlink(name, n)
	return nil
}

// Mkdir is FS's.
func (m *MemoryFS) Mkdir(ctx context.Context, name string) error {
	if err := m.enter(ctx, name, false); err != nil {
		return err
	}
	defer m.mu.Unlock()
	if m.names[name] != nil {
		return FileExists(name)
	}
	if err := m.parent(name); err != nil {
		return err
	}
	m.make(name, true)
	return nil
}

// List is FS's.
func (m *MemoryFS) List(ctx context.Context, name string) ([]string, error) {
	if err := m.enter(ctx, name, true); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	if n := m.names[name]; n == nil || !n.dir {
		return nil, NoFile(name)
	}
	names := []string{}
	for _, full := range m.below(name) {
		rest := strings.TrimPrefix(full[len(name):], "/")
		if strings.Contains(rest, "/") {
			continue
		}
		if m.names[full].dir {
			rest += "/"
		}
		names = append(names, rest)
	}
	slices.Sort(names)
	return names, nil
}

// SyncDir is FS's; there is nothing to do.
func (m *MemoryFS) SyncDir(ctx context.Context, name string) error {
	_, err := m.List(ctx, name)
	return err
}

// StatFS is FS's.
func (m *MemoryFS) StatFS(ctx context.Context, name string) (FSInfo, error) {
	if _, err := m.Stat(ctx, name); err != nil {
		return FSInfo{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return FSInfo{Kind: "memory", Free: m.capacity - m.used}, nil
}

// enter checks a name and takes the lock, which it leaves with an error.
func (m *MemoryFS) enter(ctx context.Context, name string, rootToo bool) error {
	if !(rootToo && name == "") {
		if err := CheckKey(name); err != nil {
			return err
		}
	}
	if err := Ended(ctx, name); err != nil {
		return err
	}
	m.mu.Lock()
	return nil
}

// parent makes sure that the directory of a name is there.
func (m *MemoryFS) parent(name string) error {
	dir := name[:max(strings.LastIndexByte(name, '/'), 0)]
	if n := m.names[dir]; n == nil || !n.dir {
		return NoFile(name)
	}
	return nil
}

func (m *MemoryFS) make(name string, dir bool) *memoryNode {
	m.inos++
	n := &memoryNode{dev: m.dev, ino: m.inos, dir: dir, links: 1, changed: time.Now(), locks: map[int64]map[*memoryFile]LockMode{}}
	m.names[name] = n
	return n
}

// below returns the full names of everything in a directory, at any depth.
func (m *MemoryFS) below(dir string) []string {
	var names []string
	for name := range m.names {
		if name != "" && (dir == "" || strings.HasPrefix(name, dir+"/")) {
			names = append(names, name)
		}
	}
	return names
}

func (m *MemoryFS) unlink(name string, n *memoryNode) {
	delete(m.names, name)
	n.links--
	m.drop(n)
}

// drop gives back the space of a file that nothing leads to.
func (m *MemoryFS) drop(n *memoryNode) {
	if n.links == 0 && n.opened == 0 {
		m.used -= n.data.size
		n.data = pages{}
	}
}

func (n *memoryNode) info() FileInfo {
	return FileInfo{Size: n.data.size, ModTime: n.changed, ChangeTime: n.changed, Allocated: n.data.size, Dev: n.dev, Ino: n.ino, Links: n.links, Dir: n.dir}
}

// NoFile returns the ErrNotFound of a name.
func NoFile(name string) error { return fault.New(fault.ErrNotFound, "file", name, "") }

// FileExists returns the ErrExists of a name.
func FileExists(name string) error { return fault.New(fault.ErrExists, "file", name, "") }
