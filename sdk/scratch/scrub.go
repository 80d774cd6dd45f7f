package scratch

import "encoding/binary"

// scrub makes those runs absent, for good, that are of another generation than
// their key. As long as the system runs such words do no harm. But a loss of
// power may keep a word and lose the stamp of its generation: then the next
// stamp gets that generation again, and the run would be taken for one of it.
//
// It is done when a file is opened of which not all was written since the
// system began. Nobody is kept from anything meanwhile: a run that is published
// just then may become absent again, which it may at any time.
func (s *fileShelf) scrub() error {
	if s.o.ReadOnly || s.bornNow() {
		return nil
	}
	found := false
	var b []byte
	for _, k := range s.keys {
		if k.held == 0 {
			continue
		}
		if n := int(8 * k.runs()); cap(b) < n {
			b = make([]byte, n)
		} else {
			b = b[:n]
		}
		if _, err := s.f.ReadAt(b, s.wordAt(k.first)); err != nil {
			return err
		}
		w, err := s.number(s.stampAt(k.place))
		if err != nil {
			return err
		}
		for i := range k.runs() {
			word := word(binary.LittleEndian.Uint64(b[8*i:]))
			if word == 0 || stampWord(w).valid(k.place, s.salt) && word.holds(k.first+i, stampWord(w).generation(), s.salt) {
				continue
			}
			found = true
			if err := s.setNumber(s.wordAt(k.first+i), 0); err != nil {
				return err
			}
		}
	}
	if !found {
		return nil
	}
	return s.f.Sync()
}
