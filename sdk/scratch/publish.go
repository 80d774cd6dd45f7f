package scratch

import (
	"hash/fnv"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// readOnly is the error of who leaves everything to others.
func (s *fileShelf) readOnly() error {
	return fault.New(fault.ErrLocked, "scratch", s.name, "it is left to others to fill")
}

func (s *fileShelf) claim(r run) (func(), error) {
	if s.o.ReadOnly {
		return nil, s.readOnly()
	}
	unlock, err := s.f.LockRange(lockRun+r.n, storage.LockExclusive)
	if err != nil {
		return nil, err
	}
	crash("claimed")
	return func() { unlock() }, nil
}

// begin makes a claimed run absent, so that its bytes may be written over.
func (s *fileShelf) begin(r run) error {
	if !s.marked.Swap(true) {
		if err := s.mark(); err != nil {
			s.marked.Store(false)
			return err
		}
	}
	old, err := s.number(s.wordAt(r.n))
	if err == nil && old != 0 {
		err = s.setNumber(s.wordAt(r.n), 0)
		crash("wiped")
	}
	return err
}

// mark says that from now on there are bytes of this run of the system.
func (s *fileShelf) mark() error {
	old, err := s.number(atBoot)
	if err != nil {
		return err
	}
	mine := bootNumber(s.o.Boot)
	if old != 0 && old != mine {
		mine = bootMixed
	}
	return s.setNumber(atBoot, mine)
}

// publish writes the word of a run whose bytes have been written.
func (s *fileShelf) publish(r run, generation, crc uint32) error {
	if s.o.Durable {
		if err := s.f.Sync(); err != nil {
			return err
		}
	}
	crash("written")
	w := present(r.n, generation, crc, s.salt)
	if err := s.setNumber(s.wordAt(r.n), uint64(w)); err != nil {
		return err
	}
	s.verified[r.n].Store(uint64(w))
	s.outdated[r.key.place].CompareAndSwap(everyWord, 0) // its stamp was read, and is right
	crash("published")
	return nil
}

func (s *fileShelf) keep(r run, generation uint32, b []byte) (bool, error) {
	if err := s.begin(r); err != nil {
		return false, err
	}
	at, rest := s.dataAt(r.off), b
	if half := crashHalf(len(b)); half > 0 {
		if _, err := s.f.WriteAt(b[:half], at); err != nil {
			return false, err
		}
		crash("half written")
		at, rest = at+int64(half), b[half:]
	}
	if _, err := s.f.WriteAt(rest, at); err != nil {
		return false, err
	}
	return false, s.publish(r, generation, storage.UpdateCRC(0, b))
}

func (s *fileShelf) keepFrom(r run, generation uint32, from storage.File, off int64, still func() error) (short bool, err error) {
	if err := s.begin(r); err != nil {
		return false, err
	}
	n, crc, err := s.f.CopyRange(s.dataAt(r.off), from, off, r.bytes)
	if err != nil || n < r.bytes {
		return n < r.bytes, err
	}
	if err := still(); err != nil {
		return false, err
	}
	return false, s.publish(r, generation, crc)
}

// bootMixed: bytes of several runs of the system, of which some may be lost.
const bootMixed = ^uint64(0)

// bootNumber makes a number of the name of a run of the system, which is
// never 0 or bootMixed. Of the unknown it is one that nothing else equals.
func bootNumber(name string) uint64 {
	if name == "" {
		return bootMixed
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return min(max(h.Sum64(), 1), bootMixed-1)
}
