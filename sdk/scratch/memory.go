package scratch

import (
	"sync"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/storage"
)

// memoryShelf is a shelf in memory. Runs take memory when they are taken in; what
// was published does not change, so that whoever reads needs no lock.
type memoryShelf struct {
	runs []atomic.Pointer[memoryRun]

	mu   sync.RWMutex
	keys []memoryKey
}

type memoryRun struct {
	generation uint32
	pixels     []byte
}

type memoryKey struct {
	stamp      stamp
	generation uint32
}

func newMemory(l *layout, stamps []stamp, quota int64) *memoryShelf {
	runs, _ := l.fitting(quota)
	m := &memoryShelf{runs: make([]atomic.Pointer[memoryRun], runs), keys: make([]memoryKey, len(l.keys))}
	for i, s := range stamps {
		m.keys[i] = memoryKey{s, 1}
	}
	return m
}

func (m *memoryShelf) stampOf(k *key) (stamp, uint32, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	is := m.keys[k.place]
	return is.stamp, is.generation, nil
}

func (m *memoryShelf) restamp(k *key, s stamp) (uint32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	is := &m.keys[k.place]
	if is.stamp != s {
		*is = memoryKey{s, is.generation + 1}
		if k.held > 0 {
			for n := k.first; n < min(k.first+k.runs(), int64(len(m.runs))); n++ {
				m.runs[n].Store(nil) // the memory goes with the last who reads it
			}
		}
	}
	return is.generation, nil
}

// there returns a run that is there, or nil.
func (m *memoryShelf) there(r run) *memoryRun {
	p := m.runs[r.n].Load()
	if p == nil {
		return nil
	}
	if _, generation, _ := m.stampOf(r.key); p.generation != generation {
		return nil
	}
	return p
}

func (m *memoryShelf) has(r run) bool { return m.there(r) != nil }

func (m *memoryShelf) load(r run, dst []byte, off int64) (bool, error) {
	p := m.there(r)
	if p == nil {
		return false, nil
	}
	copy(dst, p.pixels[off:])
	return true, nil
}

// claim has nobody to keep away: within a process, callers wait for each
// other before they come here.
func (m *memoryShelf) claim(run) (func(), error) { return func() {}, nil }

func (m *memoryShelf) buffer(r run) []byte { return make([]byte, r.bytes) }
func (m *memoryShelf) giveBack([]byte)     {}

func (m *memoryShelf) keep(r run, generation uint32, b []byte) (bool, error) {
	m.runs[r.n].Store(&memoryRun{generation, b})
	return true, nil
}

func (m *memoryShelf) keepFrom(r run, generation uint32, f storage.File, off int64, still func() error) (bool, error) {
	b := m.buffer(r)
	if n, err := f.ReadAt(b, off); err != nil {
		return n < len(b), err
	}
	if err := still(); err != nil {
		return false, err
	}
	_, err := m.keep(r, generation, b)
	return false, err
}

// close lets go of the memory, whoever still has the scratch.
func (m *memoryShelf) close() error {
	for i := range m.runs {
		m.runs[i].Store(nil)
	}
	return nil
}
