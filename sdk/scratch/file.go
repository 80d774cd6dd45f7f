package scratch

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Bytes far behind the end of a scratch file that are locked for what they
// stand for. The system frees the locks of a process that ends, however.
const (
	lockInUse   = 1<<62 - 1 // shared: somebody uses the file; exclusive: it is being removed or cut
	lockReplace = 1<<62 - 2 // exclusive: another file is about to get its name
	lockRun     = 1 << 61   // and the number of the run: it is being taken in
	lockKey     = 1 << 60   // and the place of the key: it is getting another stamp
)

// fileShelf is a shelf in a file that processes share.
//
// A run is published by its word. Before its bytes are written over, its word
// becomes zero; so whoever finds the same word before and after reading has
// bytes of that word.
type fileShelf struct {
	*header
	name    string
	f       storage.File
	mapping storage.Mapping // nil: read by ReadAt
	unlock  func() error    // of lockInUse
	o       Options
	count   *counters
	trusted bool // what is said to be there need not be verified: it was written since the system began

	verified []atomic.Uint64 // by run: the word under which its bytes were found right
	known    []atomic.Pointer[knownStamp]
	outdated []atomic.Uint64 // by key, of who could not say so to others: the word of a stamp that is not the source's any more
	marked   atomic.Bool     // atBoot says that this process writes
	most     int64           // bytes of the largest run
	spare    chan []byte     // buffers for a run that nobody uses
}

// knownStamp is a stamp as it was read under a word.
type knownStamp struct {
	word  stampWord
	stamp stamp
}

// newFile takes a file over that has the header h and of which the caller
// holds lockInUse; unlock and f are the shelf's from then on.
func newFile(h *header, f storage.File, name string, unlock func() error, o Options, count *counters) *fileShelf {
	s := &fileShelf{
		header: h, name: name, f: f, unlock: unlock, o: o, count: count,
		verified: make([]atomic.Uint64, h.runs), known: make([]atomic.Pointer[knownStamp], len(h.keys)),
		outdated: make([]atomic.Uint64, len(h.keys)), most: h.largest(), spare: make(chan []byte, spares(h.largest())),
	}
	if m, ok := f.(storage.Mapper); ok && !o.NoMap {
		s.mapping, _ = m.Map() // ReadAt does as well
	}
	if o.Verify == VerifyRestart {
		s.trusted = s.bornNow()
	}
	return s
}

// bornNow reports whether all of the file was written since the system began.
func (s *fileShelf) bornNow() bool {
	boot, err := s.number(atBoot)
	return err == nil && boot == bootNumber(s.o.Boot) && boot != bootMixed
}

// number reads 8 bytes at an offset.
func (s *fileShelf) number(off int64) (uint64, error) {
	var b [8]byte
	_, err := s.f.ReadAt(b[:], off)
	return binary.LittleEndian.Uint64(b[:]), err
}

// setNumber writes 8 bytes at an offset, in one go.
func (s *fileShelf) setNumber(off int64, v uint64) error {
	if s.o.ReadOnly {
		return nil
	}
	_, err := s.f.WriteAt(binary.LittleEndian.AppendUint64(nil, v), off)
	return err
}

// between reads bytes of the data between two looks at the word of their run
// and that of the stamps of its key.
func (s *fileShelf) between(dst []byte, r run, off int64) (before, after [2]uint64, err error) {
	words := [2]int64{s.stampAt(r.key.place), s.wordAt(r.n)}
	at := s.dataAt(r.off + off)
	if s.mapping != nil {
		return s.mapping.ReadBetween(dst, at, words)
	}
	look := func(into *[2]uint64) {
		for i, w := range words {
			if err == nil {
				into[i], err = s.number(w)
			}
		}
	}
	look(&before)
	if err == nil && len(dst) > 0 {
		_, err = s.f.ReadAt(dst, at)
	}
	look(&after)
	if err == io.EOF {
		err = fault.At(fault.ErrIO, "scratch", s.name, at, "the file was cut")
	}
	return before, after, err
}

// stampUnder returns the stamp that a word names, as long as the word stands.
func (s *fileShelf) stampUnder(k *key, w stampWord) (*knownStamp, error) {
	if known := s.known[k.place].Load(); known != nil && known.word == w {
		return known, nil
	}
	if !w.valid(k.place, s.salt) {
		return nil, s.badStamp(k)
	}
	b := make([]byte, stampBytes)
	at := s.stampAt(k.place)
	if _, err := s.f.ReadAt(b, at+8+int64(w.which())*stampBytes); err != nil {
		return nil, err
	}
	is, ok := parseStamp(b)
	if again, err := s.number(at); err != nil || !ok || stampWord(again) != w {
		return nil, s.badStamp(k)
	}
	known := &knownStamp{w, is}
	s.known[k.place].Store(known)
	return known, nil
}

// holds reports whether a run is there, by its word and that of its stamps.
func (s *fileShelf) holds(r run, known *knownStamp, w word) bool {
	if o := s.outdated[r.key.place].Load(); o != 0 && (o == uint64(known.word) || o == everyWord) {
		return false
	}
	return w.holds(r.n, known.word.generation(), s.salt)
}

func (s *fileShelf) badStamp(k *key) error {
	return fault.At(fault.ErrCorrupt, "scratch", s.name, s.stampAt(k.place), "the stamp of "+k.name+" is not one")
}

func (s *fileShelf) stampOf(k *key) (stamp, uint32, error) {
	for try := 0; ; try++ {
		w, err := s.number(s.stampAt(k.place))
		if err != nil {
			return stamp{}, 0, err
		}
		known, err := s.stampUnder(k, stampWord(w))
		if err == nil {
			return known.stamp, known.word.generation(), nil
		}
		// Another process may have been giving it a new one, twice. A damaged
		// one is replaced by restamp.
		if try == 2 {
			return stamp{}, 0, err
		}
	}
}

// everyWord is a word that no stamp has: none is believed.
const everyWord = ^uint64(0)

// restamp gives a key another stamp. If that fails, this process believes
// nothing that is held under the old one.
func (s *fileShelf) restamp(k *key, is stamp) (uint32, error) {
	err := s.readOnly()
	var generation uint32
	if !s.o.ReadOnly {
		generation, err = s.writeStamp(k, is)
	}
	w := uint64(0)
	if err != nil {
		var unread error
		if w, unread = s.number(s.stampAt(k.place)); unread != nil {
			w = everyWord
		}
	}
	s.outdated[k.place].Store(w)
	return generation, err
}

func (s *fileShelf) writeStamp(k *key, is stamp) (uint32, error) {
	unlock, err := s.f.LockRange(lockKey+int64(k.place), storage.LockExclusive)
	if err != nil {
		return 0, err
	}
	defer unlock()
	old, generation, err := s.stampOf(k)
	if err == nil && old == is {
		return generation, nil
	}
	at := s.stampAt(k.place)
	raw, rerr := s.number(at)
	if rerr != nil {
		return 0, rerr
	}
	which := 1 - stampWord(raw).which()
	if generation++; err != nil || generation%generations == 0 {
		// The low bits of generations begin again, or the last one is not
		// known: no old word may be taken for one of the new.
		if err := s.wipe(k); err != nil {
			return 0, err
		}
		if err != nil {
			generation = rand.Uint32()/2 + 1
		}
	}
	if _, err := s.f.WriteAt(is.encode(), at+8+int64(which)*stampBytes); err != nil {
		return 0, err
	}
	crash("stamp written")
	if err := s.setNumber(at, uint64(makeStampWord(k.place, generation, which, s.salt))); err != nil {
		return 0, err
	}
	crash("stamp published")
	return generation, nil
}

// wipe makes all runs of a key absent.
func (s *fileShelf) wipe(k *key) error {
	if k.held == 0 {
		return nil
	}
	_, err := s.f.WriteAt(make([]byte, 8*k.runs()), s.wordAt(k.first))
	return err
}

func (s *fileShelf) has(r run) bool {
	before, _, err := s.between(nil, r, 0)
	if err != nil {
		return false
	}
	known, err := s.stampUnder(r.key, stampWord(before[0]))
	return err == nil && s.holds(r, known, word(before[1]))
}

func (s *fileShelf) load(r run, dst []byte, off int64) (bool, error) {
	known := s.known[r.key.place].Load()
	if w := s.verified[r.n].Load(); w != 0 && known != nil && s.o.Verify != VerifyAlways &&
		s.holds(r, known, word(w)) {
		want := [2]uint64{uint64(known.word), w}
		if before, after, err := s.between(dst, r, off); err != nil || before == want && after[1] == w {
			return err == nil, err
		}
	}
	return s.loadFirst(r, dst, off)
}

// loadFirst is load of a run that was not seen yet, or has become another.
func (s *fileShelf) loadFirst(r run, dst []byte, off int64) (bool, error) {
	for range 3 {
		// Where nothing was written yet is nothing to read, not even by a
		// mapping: that could take space.
		before, _, err := s.between(nil, r, 0)
		if err != nil {
			return false, err
		}
		known, err := s.stampUnder(r.key, stampWord(before[0]))
		if err != nil {
			return false, err
		}
		w := word(before[1])
		if !s.holds(r, known, w) {
			return false, nil
		}
		whole, at := dst, off
		if !s.trusted && int64(len(dst)) < r.bytes {
			whole, at = s.buffer(r), 0
			defer s.giveBack(whole)
		}
		before, after, err := s.between(whole, r, at)
		if err != nil {
			return false, err
		}
		if word(before[1]) != w || word(after[1]) != w {
			continue // written over meanwhile
		}
		if !s.trusted {
			if storage.UpdateCRC(0, whole) != w.crc() {
				return false, nil
			}
			if int64(len(dst)) < r.bytes {
				copy(dst, whole[off:])
			}
		}
		s.verified[r.n].Store(uint64(w))
		return true, nil
	}
	return false, nil
}

// spares is how many buffers of a size are kept for the next run. They live as
// long as the shelf: a pool that collections empty would be filled with zeros
// again and again.
func spares(size int64) int64 { return min(max(mostRun/max(size, 1), 1), 4) }

func (s *fileShelf) buffer(r run) []byte {
	select {
	case b := <-s.spare:
		return b[:r.bytes]
	default:
		return make([]byte, r.bytes, s.most)
	}
}

func (s *fileShelf) giveBack(b []byte) {
	select {
	case s.spare <- b:
	default:
	}
}

// close gives everything back. Who is in a call of the shelf must have left.
func (s *fileShelf) close() error {
	var errs []error
	if s.mapping != nil {
		errs = append(errs, s.mapping.Close())
	}
	if s.o.Durable && s.marked.Load() {
		errs = append(errs, s.f.Sync())
	}
	if s.unlock != nil {
		errs = append(errs, s.unlock())
	}
	return errors.Join(append(errs, s.f.Close())...)
}
