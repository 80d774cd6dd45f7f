// Package linear is the memory of wasm instances: reserved at its largest,
// committed as it grows.
package linear

import (
	"context"

	"github.com/tetratelabs/wazero/experimental"
)

// WithAllocator returns a context in which modules are instantiated with such memory.
func WithAllocator(ctx context.Context) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(allocate))
}

// memory is a guest's. All that it may ever take is reserved when it
// is made, and committed as the guest grows: growing costs neither a copy of
// what is there nor the memory of both for a while.
type memory struct {
	all       []byte // reserved; nil where the system cannot, and plain is used
	plain     []byte
	committed uint64
	max       uint64
}

// allocate implements [experimental.MemoryAllocator].
func allocate(_, max uint64) experimental.LinearMemory {
	m := &memory{max: max}
	if all, err := reserve(max); err == nil {
		m.all = all
	}
	return m
}

// Reallocate implements [experimental.LinearMemory]. The guest sees nil as a
// failed growth.
func (m *memory) Reallocate(size uint64) []byte {
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
func (m *memory) Free() {
	if m.all != nil {
		unreserve(m.all)
	}
	m.all, m.plain, m.max = nil, nil, 0
}
