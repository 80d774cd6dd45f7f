package host

import (
	"reflect"
	"slices"
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

// sharedStore is what one number stands for: a store for each use of it, which
// may be several that name the same. Any of them serves all, as long as its own
// use lasts: whoever gave it may close it then.
type sharedStore struct{ uses []storage.Store }

// get returns nil for a number that is not in use.
func (s *stores) get(id uint32) storage.Store {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if at := s.byID[id]; at != nil {
		return at.uses[0]
	}
	return nil
}

func (s *stores) add(st storage.Store) (id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, known := range s.byID {
		if storage.Same(known.uses[0], st) {
			known.uses = append(known.uses, st)
			return id
		}
	}
	if s.byID == nil {
		s.byID = map[uint32]*sharedStore{}
	}
	for s.last++; s.last == 0 || s.byID[s.last] != nil; s.last++ {
	}
	s.byID[s.last] = &sharedStore{[]storage.Store{st}}
	return s.last
}

// remove ends one use of a store, and says whether it was the last of its
// number.
func (s *stores) remove(id uint32, st storage.Store) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.byID[id]
	if at == nil {
		return false
	}
	i := slices.IndexFunc(at.uses, func(x storage.Store) bool { return identical(x, st) })
	if i < 0 { // of a kind that cannot be compared: any will do
		i = 0
	}
	if at.uses = slices.Delete(at.uses, i, i+1); len(at.uses) > 0 {
		return false
	}
	delete(s.byID, id)
	return true
}

// identical says whether two are one value; those that cannot be compared are
// not.
func identical(a, b any) bool {
	return reflect.TypeOf(a).Comparable() && reflect.TypeOf(a) == reflect.TypeOf(b) && a == b
}
