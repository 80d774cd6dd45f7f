package host

import "context"

// idle is an instance that no call uses.
func (s *Sandbox) idle(look func(in *instance)) {
	at, err := s.pool.take(context.Background(), nil)
	if err != nil {
		return
	}
	defer s.giveBack(at)
	if at.in != nil && !at.in.dead {
		look(at.in)
	}
}

// MemorySize is how many bytes the guest's memory has now.
func (s *Sandbox) MemorySize() (n uint32) {
	s.idle(func(in *instance) { n = in.memory.Size() })
	return n
}

// Serial is the number of the last instance.
func (s *Sandbox) Serial() uint64 { return s.serial.Load() }

// Handles is how many things are open on all instances.
func (s *Sandbox) Handles() (n int) {
	for _, at := range s.pool.slots {
		at, err := s.pool.take(context.Background(), at)
		if err != nil {
			return -1
		}
		if at.in != nil {
			n += len(at.in.handles)
		}
		s.giveBack(at)
	}
	return n
}

// Slots is how many instances were started and live.
func (s *Sandbox) Slots() (n int) {
	for _, at := range s.pool.slots {
		if at.in != nil && !at.in.dead {
			n++
		}
	}
	return n
}

// Raw carries out one request on the instance.
func (s *Sandbox) Raw(ctx context.Context, kind uint32, req []byte) error {
	in, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer s.put(in)
	_, err = in.do(ctx, kind, req, nil)
	return err
}

// RawStart calls gh_start with any pointer and length.
func (s *Sandbox) RawStart(kind, ptr, n uint32) (int32, error) {
	in, err := s.take(context.Background())
	if err != nil {
		return 0, err
	}
	defer s.put(in)
	code, err := in.invoke(in.module.ExportedFunction("gh_start"), uint64(kind), uint64(ptr), uint64(n))
	return int32(code), err
}

// Trap has the guest execute an instruction that traps: it is handed a
// result address outside of everything.
func (s *Sandbox) Trap() error {
	in, err := s.take(context.Background())
	if err != nil {
		return err
	}
	defer s.put(in)
	_, err = in.invoke(in.module.ExportedFunction("_initialize")) // a second start of a Go program is its end
	return err
}

// PrepareCache is what New does to a compile cache before it uses it.
var PrepareCache = prepareCache

// Files is how many files the instance has open.
func (s *Sandbox) Files() (n int) {
	s.idle(func(in *instance) { n = len(in.files.byID) })
	return n
}

// Limits are those that hold.
func (s *Sandbox) Limits() Limits { return s.config.Limits }

// Memory is the cap of an instance.
func (s *Sandbox) Memory() int64 { return s.config.Memory }

// Occupy takes an instance, as a call does; release gives it back.
func (s *Sandbox) Occupy() (release func(), err error) {
	in, err := s.take(context.Background())
	if err != nil {
		return nil, err
	}
	return func() { s.put(in) }, nil
}

// Waiting is how many calls wait for an instance.
func (s *Sandbox) Waiting() int {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return len(s.pool.waiting)
}

// Lent is how many codecs, stores and file systems are lent to the guest, and
// how much is kept for all instances.
func (s *Sandbox) Lent() (codecs, stores, systems int, kept int64) {
	return len(s.codecs.list), len(s.stores.byID), len(s.systems.byID), s.shared.kept.Stats().Entries
}
