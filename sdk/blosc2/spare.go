package blosc2

// spare is where a chunk is put together and packed. It is kept from one
// commit to the next: of small ones, most of the time went into room for them.
// It is guarded by the lock of the frame.
type spare struct{ plain, packed []byte }

// chunk returns n bytes of any content, until the next call.
func (s *spare) chunk(n int) []byte {
	if cap(s.plain) < n {
		s.plain = make([]byte, n)
	}
	return s.plain[:n]
}

// drop lets go of what is larger than it is worth to keep.
func (s *spare) drop() {
	if cap(s.plain) > mostKept {
		s.plain = nil
	}
	if cap(s.packed) > mostKept {
		s.packed = nil
	}
}
