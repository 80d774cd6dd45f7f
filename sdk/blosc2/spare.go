package blosc2

// spare is room for what a commit puts together and nobody keeps. It is kept
// from one commit to the next: of small ones, most of the time went into
// memory for them. It is guarded by the lock of the frame.
type spare struct {
	plain, packed  []byte  // a chunk
	entries, moved []int64 // of the index; where a grid changes, before and after
	kept           []bool
	index, tail    []byte // the index decoded; what lies behind the chunks
}

// sized returns n elements of any content, which s holds from then on.
func sized[E any](s *[]E, n int) []E {
	if cap(*s) < n {
		*s = make([]E, n, n+n/8) // an index grows by a few at a time
	}
	return (*s)[:n]
}

// chunk returns n bytes of any content, until the next call.
func (s *spare) chunk(n int) []byte { return sized(&s.plain, n) }

// drop lets go of what is larger than it is worth to keep.
func (s *spare) drop() {
	for _, b := range []*[]byte{&s.plain, &s.packed, &s.index, &s.tail} {
		if cap(*b) > mostKept {
			*b = nil
		}
	}
	if cap(s.entries) > mostKept/8 || cap(s.moved) > mostKept/8 {
		s.entries, s.moved, s.kept = nil, nil, nil
	}
}
