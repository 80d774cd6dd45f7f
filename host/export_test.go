package host

import "context"

// MemorySize is how many bytes the guest's memory has now.
func (s *Sandbox) MemorySize() uint32 {
	in := <-s.turns
	defer s.put(in)
	if in == nil || in.dead {
		return 0
	}
	return in.memory.Size()
}

// Serial is the number of the instance that is in use.
func (s *Sandbox) Serial() uint64 {
	in := <-s.turns
	defer s.put(in)
	if in == nil {
		return 0
	}
	return in.serial
}

// Handles is how many things are open on the instance.
func (s *Sandbox) Handles() int {
	in := <-s.turns
	defer s.put(in)
	return len(in.handles)
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
func (s *Sandbox) Files() int {
	in := <-s.turns
	defer s.put(in)
	return len(in.files.byID)
}
