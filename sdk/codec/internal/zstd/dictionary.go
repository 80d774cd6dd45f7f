package zstd

// Dictionary is what frames that name it may refer to: tables, and bytes
// that lie before their content. Safe for concurrent use.
type Dictionary struct {
	id      uint32
	huffman huffman
	tables  [3]sequenceTable
	repeat  [3]int
	content []byte
}

const dictionaryMagic = 0xec30a437

// ParseDictionary reads a dictionary as zstd trains it; it keeps b.
// ErrCorrupt if it is damaged. RFC 8878, 5.
func ParseDictionary(b []byte) (*Dictionary, error) {
	if len(b) < 8 || le.Uint32(b) != dictionaryMagic || le.Uint32(b[4:]) == 0 {
		return nil, corrupt("not a dictionary")
	}
	d := &Dictionary{id: le.Uint32(b[4:])}
	var counts distribution
	src, err := d.huffman.parse(b[8:], &counts)
	if err != nil {
		return nil, err
	}
	for _, i := range [3]int{offset, matchLength, literalLength} {
		f := fields[i]
		if src, err = counts.parse(src, len(f.symbols)-1, f.maxLog); err != nil {
			return nil, err
		}
		if !d.tables[i].build(f, &counts) {
			return nil, corrupt("a table of the dictionary is damaged")
		}
	}
	if len(src) < 4*len(d.repeat) {
		return nil, corrupt("the dictionary ends too soon")
	}
	d.content = src[4*len(d.repeat):]
	for i := range d.repeat {
		n := le.Uint32(src[4*i:])
		if n == 0 || uint64(n) > uint64(len(d.content)) {
			return nil, corrupt("a distance of the dictionary is damaged")
		}
		d.repeat[i] = int(n)
	}
	return d, nil
}

// Decode is the function of that name, for frames of the dictionary and
// frames of none.
func (d *Dictionary) Decode(dst []byte, at int, src []byte) (end int, err error) {
	return decode(d, dst, at, src)
}
