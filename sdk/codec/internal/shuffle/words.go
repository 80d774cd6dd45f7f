package shuffle

// parts are eight slices of n bytes, one after the other in b.
func parts(b []byte, n int) *[8][]byte {
	var p [8][]byte
	for i := range p {
		p[i] = b[i*n : (i+1)*n]
	}
	return &p
}

// loadParts returns the words at i in each part.
func loadParts(p *[8][]byte, i int) (a, b, c, d, e, f, g, h uint64) {
	return le.Uint64(p[0][i:]), le.Uint64(p[1][i:]), le.Uint64(p[2][i:]), le.Uint64(p[3][i:]),
		le.Uint64(p[4][i:]), le.Uint64(p[5][i:]), le.Uint64(p[6][i:]), le.Uint64(p[7][i:])
}

// storeParts sets the words at i in each part.
func storeParts(p *[8][]byte, i int, a, b, c, d, e, f, g, h uint64) {
	le.PutUint64(p[0][i:], a)
	le.PutUint64(p[1][i:], b)
	le.PutUint64(p[2][i:], c)
	le.PutUint64(p[3][i:], d)
	le.PutUint64(p[4][i:], e)
	le.PutUint64(p[5][i:], f)
	le.PutUint64(p[6][i:], g)
	le.PutUint64(p[7][i:], h)
}

// loadWords returns the words that begin step bytes apart.
func loadWords(s []byte, step int) (a, b, c, d, e, f, g, h uint64) {
	s = s[:7*step+8]
	return le.Uint64(s), le.Uint64(s[step:]), le.Uint64(s[2*step:]), le.Uint64(s[3*step:]),
		le.Uint64(s[4*step:]), le.Uint64(s[5*step:]), le.Uint64(s[6*step:]), le.Uint64(s[7*step:])
}

// storeWords sets the words that begin step bytes apart.
func storeWords(s []byte, step int, a, b, c, d, e, f, g, h uint64) {
	s = s[:7*step+8]
	le.PutUint64(s, a)
	le.PutUint64(s[step:], b)
	le.PutUint64(s[2*step:], c)
	le.PutUint64(s[3*step:], d)
	le.PutUint64(s[4*step:], e)
	le.PutUint64(s[5*step:], f)
	le.PutUint64(s[6*step:], g)
	le.PutUint64(s[7*step:], h)
}
