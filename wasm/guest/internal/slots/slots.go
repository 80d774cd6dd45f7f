// Package slots is a table of things under numbers that are never used
// twice while they matter: handles, operations and tokens of the guest.
package slots

import "sync"

const (
	indexBits = 16
	indexMask = 1<<indexBits - 1
	lastTurn  = 1<<15 - 1
)

// Table holds values under ids. An id is above zero and below 2^31: the slot
// plus one in the low 16 bits, how often the slot was used before above
// them. All methods may be called concurrently.
type Table[T any] struct {
	// Retire takes a slot out of use for good when its turns are used up, so
	// that no id ever comes again. Without it the turns start anew, and an
	// id may come again after its slot was used 32768 times.
	Retire bool

	mu    sync.Mutex
	slots []slot[T]
	free  []uint16
	live  int
}

type slot[T any] struct {
	value T
	turn  uint16
	taken bool
}

// Put stores v and returns its id; 0 when 65535 slots are taken.
func (t *Table[T]) Put(v T) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var i int
	if n := len(t.free); n > 0 {
		i = int(t.free[n-1])
		t.free = t.free[:n-1]
	} else if len(t.slots) < indexMask {
		i = len(t.slots)
		t.slots = append(t.slots, slot[T]{})
	} else {
		return 0
	}
	s := &t.slots[i]
	s.value, s.taken = v, true
	t.live++
	return uint32(s.turn)<<indexBits | uint32(i+1)
}

// Get returns the value of an id.
func (t *Table[T]) Get(id uint32) (T, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.find(id); s != nil {
		return s.value, true
	}
	var zero T
	return zero, false
}

// Remove takes an id out of the table and returns its value.
func (t *Table[T]) Remove(id uint32) (T, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var zero T
	s := t.find(id)
	if s == nil {
		return zero, false
	}
	v := s.value
	s.value, s.taken = zero, false
	t.live--
	switch {
	case s.turn < lastTurn:
		s.turn++
	case t.Retire:
		return v, true
	default:
		s.turn = 0
	}
	t.free = append(t.free, uint16(id&indexMask-1))
	return v, true
}

// Len returns how many values there are.
func (t *Table[T]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.live
}

func (t *Table[T]) find(id uint32) *slot[T] {
	i := int(id&indexMask) - 1
	if i < 0 || i >= len(t.slots) {
		return nil
	}
	if s := &t.slots[i]; s.taken && uint32(s.turn) == id>>indexBits {
		return s
	}
	return nil
}
