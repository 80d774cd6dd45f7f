package storage

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Memory is a Store of objects in memory, with a version that changes at
// every Set. It is also a BufferReader and a Lister. Safe for concurrent use.
type Memory struct {
	mu      sync.RWMutex
	objects map[string]memoryObject
	sets    int64
}

type memoryObject struct {
	data    []byte // never written to
	version Version
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{objects: map[string]memoryObject{}} }

// Set puts a copy of data under key, in place of what was there. It panics
// if key is not well formed.
func (m *Memory) Set(key string, data []byte) {
	if err := CheckKey(key); err != nil {
		panic(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sets++
	m.objects[key] = memoryObject{bytes.Clone(data), Version("memory " + strconv.FormatInt(m.sets, 10))}
}

// Remove removes what is under key; nothing there is fine.
func (m *Memory) Remove(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, key)
}

// Put is Putter's.
func (m *Memory) Put(ctx context.Context, key string, data []byte, c Condition) (Version, error) {
	if err := CheckRead(ctx, key, nil); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old, there := m.objects[key]
	if err := c.Check(key, there, old.version); err != nil {
		return "", err
	}
	m.sets++
	o := memoryObject{bytes.Clone(data), Version("memory " + strconv.FormatInt(m.sets, 10))}
	m.objects[key] = o
	return o.version, nil
}

// Delete is Putter's.
func (m *Memory) Delete(ctx context.Context, key string, c Condition) error {
	if err := CheckRead(ctx, key, nil); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old, there := m.objects[key]
	if err := c.Check(key, there, old.version); err != nil {
		return err
	}
	delete(m.objects, key)
	return nil
}

// ReadRanges is Store's.
func (m *Memory) ReadRanges(ctx context.Context, key string, rs []Range, want Version) ([][]byte, ObjectInfo, error) {
	if err := CheckRead(ctx, key, rs); err != nil {
		return nil, ObjectInfo{}, err
	}
	o, info, err := m.at(key, want)
	if err != nil {
		return nil, info, err
	}
	bs := make([][]byte, len(rs))
	for i, r := range rs {
		off, n := r.Resolve(info.Size)
		bs[i] = append(make([]byte, 0, n), o.data[off:off+n]...)
	}
	return bs, info, nil
}

// ReadInto is BufferReader's.
func (m *Memory) ReadInto(ctx context.Context, key string, off int64, dst []byte, want Version) (int, ObjectInfo, error) {
	r, err := IntoRange(key, off, dst)
	if err != nil {
		return 0, ObjectInfo{}, err
	}
	if err := CheckRead(ctx, key, nil); err != nil {
		return 0, ObjectInfo{}, err
	}
	o, info, err := m.at(key, want)
	if err != nil {
		return 0, info, err
	}
	from, n := r.Resolve(info.Size)
	return copy(dst, o.data[from:from+n]), info, nil
}

func (m *Memory) at(key string, want Version) (memoryObject, ObjectInfo, error) {
	m.mu.RLock()
	o, ok := m.objects[key]
	m.mu.RUnlock()
	info := ObjectInfo{Size: int64(len(o.data)), Version: o.version}
	switch {
	case !ok:
		return o, ObjectInfo{}, Absent(key)
	case want != "" && want != o.version:
		return o, info, Stale(key)
	}
	return o, info, nil
}

// Check is Checker's.
func (m *Memory) Check(ctx context.Context, key string, want Version) error {
	if err := CheckRead(ctx, key, nil); err != nil {
		return err
	}
	_, _, err := m.at(key, want)
	return err
}

// List is Lister's.
func (m *Memory) List(ctx context.Context, prefix string) ([]string, error) {
	if err := CheckPrefix(prefix); err != nil {
		return nil, err
	}
	if err := Ended(ctx, prefix); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	names := []string{}
	for key := range m.objects {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			if i := strings.IndexByte(rest, '/'); i >= 0 {
				rest = rest[:i+1]
			}
			names = append(names, rest)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
