package blosc

// special writes bytes from.. of a chunk whose elements are all alike.
func (c *Chunk) special(dst []byte, from int) error {
	var element []byte
	switch c.h.Special {
	case NaNs:
		element = []byte{0, 0, 0xc0, 0x7f}
		if c.h.TypeSize == 8 {
			element = []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}
		}
	case Repeated:
		var err error
		if element, err = c.src.bytes(ExtendedHeaderSize, c.h.PackedSize-ExtendedHeaderSize, new([]byte)); err != nil {
			return err
		}
	default:
		clear(dst)
		return nil
	}
	at := from % len(element)
	fillPattern(dst, element, at)
	return nil
}

// fillPattern repeats element, from its byte at on.
func fillPattern(dst, element []byte, at int) {
	n := copy(dst, element[at:])
	for n < len(dst) && n < len(element) { // one whole period, whatever it began with
		n += copy(dst[n:min(len(element), len(dst))], element)
	}
	for n < len(dst) { // what is written has the same period: each turn doubles it
		n += copy(dst[n:], dst[:n-n%len(element)])
	}
}

func fillByte(dst []byte, b byte) {
	if b == 0 {
		clear(dst)
		return
	}
	fillPattern(dst, []byte{b}, 0)
}
