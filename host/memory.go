package host

import "github.com/tetratelabs/wazero/experimental"

// linear is a guest's memory. All that it may ever take is reserved when it
// is made, and committed as the guest grows: growing costs neither a copy of
// what is there nor the memory of both for a while.
type linear struct {
	all       []byte // reserved; nil where the system cannot, and plain is used
	plain     []byte
	committed uint64
	max       uint64
}

// allocate implements [experimental.MemoryAllocator].
func allocate(_, max uint64) experimental.LinearMemory {
	m := &linear{max: max}
	if all, err := reserve(max); err == nil {
		m.all = all
	}
	return m
}

// Reallocate implements [experimental.LinearMemory]. The guest sees nil as a
// failed growth.
func (m *linear) Reallocate(size uint64) []byte {
	if size > m.max {
		return nil
	}
	if m.all == nil {
		if uint64(cap(m.plain)) < size {
			grown := make([]byte, size, min(max(size, 2*uint64(cap(m.plain))), m.max))
			copy(grown, m.plain)
			m.plain = grown
		}
		m.plain = m.plain[:size]
		return m.plain
	}
	if size > m.committed {
		if commit(m.all[m.committed:size]) != nil {
			return nil
		}
		m.committed = size
	}
	return m.all[:size:size]
}

// Free implements [experimental.LinearMemory].
func (m *linear) Free() {
	if m.all != nil {
		unreserve(m.all)
	}
	m.all, m.plain, m.max = nil, nil, 0
}
