package host

import (
	"sync"

	"github.com/gridhold/gridhold/sdk/storage"
)

// stores numbers the stores that the guest may read. One store has one
// number, by which the guest knows that two arrays are the same; it stays in
// use while something is open over the store.
type stores struct {
	mu   sync.RWMutex
	byID map[uint32]*sharedStore
	last uint32
}

type sharedStore struct {
	storage.Store
	users int
}

// get returns nil for a number that is not in use.
func (s *stores) get(id uint32) storage.Store {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if st := s.byID[id]; st != nil {
		return st.Store
	}
	return nil
}

func (s *stores) add(st storage.Store) (id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, known := range s.byID {
		if storage.Same(known.Store, st) {
			known.users++
			return id
		}
	}
	if s.byID == nil {
		s.byID = map[uint32]*sharedStore{}
	}
	for s.last++; s.last == 0 || s.byID[s.last] != nil; s.last++ {
	}
	s.byID[s.last] = &sharedStore{st, 1}
	return s.last
}

// remove ends one use, and says whether it was the last.
func (s *stores) remove(id uint32) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.byID[id]
	if st == nil {
		return false
	}
	if st.users--; st.users == 0 {
		delete(s.byID, id)
	}
	return st.users == 0
}
