package inflate

// What the symbols of each code stand for. RFC 1951, 3.2.5.
var (
	literalSymbols  = newLiterals()
	distanceSymbols = newDistances()
	lengthSymbols   = newLengths()
	fixed           = newFixed()
)

func newLiterals() (s [288]cell) { // the last two are no symbols, but have codes in the fixed table
	for i := range 256 {
		s[i] = cell(i)<<16 | plain
	}
	s[256] = stop
	value := 3
	for i := range 28 {
		extra := max(0, i/4-1)
		s[257+i] = cell(value)<<16 | cell(extra)<<8 | longer
		value += 1 << extra
	}
	s[285] = 258<<16 | longer
	return s
}

func newDistances() (s [32]cell) { // nor are the last two here
	value := 1
	for i := range 30 {
		extra := max(0, i/2-1)
		s[i] = cell(value)<<16 | cell(extra)<<8 | longer
		value += 1 << extra
	}
	return s
}

func newLengths() (s [19]cell) {
	for i := range s {
		s[i] = cell(i)<<16 | plain
	}
	return s
}

type fixedTables struct{ literals, distances table }

func newFixed() *fixedTables {
	var widths [288]uint8
	for i := range widths {
		switch {
		case i < 144:
			widths[i] = 8
		case i < 256:
			widths[i] = 9
		case i < 280:
			widths[i] = 7
		default:
			widths[i] = 8
		}
	}
	f := &fixedTables{}
	f.literals.build(widths[:], literalSymbols[:])
	for i := range 32 {
		widths[i] = 5
	}
	f.distances.build(widths[:32], distanceSymbols[:])
	return f
}
