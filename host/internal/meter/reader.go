package meter

import (
	"github.com/gridhold/gridhold/sdk/fault"
)

// reader walks the bytes of a module. After its first error it gives zeros
// and stays where it is, so that callers check once.
type reader struct {
	b   []byte
	pos int
	err error
}

func (r *reader) fail(kind error, why string) {
	if r.err == nil {
		r.err = fault.At(kind, "wasm", "", int64(r.pos), why)
		r.b = r.b[:r.pos] // nothing is left to read
	}
}

func (r *reader) corrupt(why string) { r.fail(fault.ErrCorrupt, why) }

func (r *reader) done() bool { return r.pos >= len(r.b) }

func (r *reader) byte() byte {
	if r.done() {
		r.corrupt("ends early")
		return 0
	}
	r.pos++
	return r.b[r.pos-1]
}

func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.b)-r.pos) {
		r.corrupt("ends early")
		return nil
	}
	r.pos += int(n)
	return r.b[r.pos-int(n) : r.pos : r.pos]
}

// u32 reads an unsigned number of up to 32 bits.
func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			if v > 1<<32-1 {
				break
			}
			return uint32(v)
		}
	}
	r.corrupt("a number of more than 32 bits")
	return 0
}

// s33 reads a signed number of up to 33 bits: a block's type.
func (r *reader) s33() int64 {
	var v int64
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		v |= int64(c&0x7f) << shift
		if c < 0x80 {
			if c&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			if v < -1<<32 || v >= 1<<32 {
				break
			}
			return v
		}
	}
	r.corrupt("a number of more than 33 bits")
	return 0
}

// skipLEB passes over a number of up to max bytes.
func (r *reader) skipLEB(max int) {
	for range max {
		if r.byte() < 0x80 {
			return
		}
	}
	r.corrupt("a number that is too long")
}

// count reads how many items follow, each of at least one byte.
func (r *reader) count() int {
	n := r.u32()
	if uint64(n) > uint64(len(r.b)-r.pos) {
		r.corrupt("says that it has more items than bytes")
		return 0
	}
	return int(n)
}

// index reads an index into n things.
func (r *reader) index(n int, what string) uint32 {
	i := r.u32()
	if r.err == nil && uint64(i) >= uint64(n) {
		r.corrupt("names a " + what + " that there is not")
		return 0
	}
	return i
}

func (r *reader) name() string { return string(r.bytes(r.u32())) }

func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func appendS32(b []byte, v int32) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func appendName(b []byte, s string) []byte { return append(appendU32(b, uint32(len(s))), s...) }
