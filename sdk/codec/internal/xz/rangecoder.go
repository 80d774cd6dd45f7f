package xz

import "encoding/binary"

const (
	probBits  = 11
	probStart = 1 << (probBits - 1)
	probShift = 5
	topRange  = 1 << 24
)

// prob is the probability of a 0 bit, of 2^11.
type prob uint16

func reset(p []prob) {
	for i := range p {
		p[i] = probStart
	}
}

// rangeDecoder turns bytes into bits. Past the end of src it gives zeros and
// sets past, which callers look at when they have a length to trust.
type rangeDecoder struct {
	src   []byte
	at    int
	width uint32
	code  uint32
	past  bool
}

// start reads the five bytes that a range coded stream begins with.
func (r *rangeDecoder) start(src []byte) bool {
	if len(src) < 5 || src[0] != 0 {
		return false
	}
	*r = rangeDecoder{src: src, at: 5, width: 1<<32 - 1, code: binary.BigEndian.Uint32(src[1:])}
	return true
}

func (r *rangeDecoder) normalize() {
	if r.width >= topRange {
		return
	}
	r.width <<= 8
	r.code <<= 8
	if r.at < len(r.src) {
		r.code |= uint32(r.src[r.at])
		r.at++
	} else {
		r.past = true
	}
}

// finished reports whether all has been read that was written: an encoder
// ends so that nothing remains.
func (r *rangeDecoder) finished() bool {
	r.normalize()
	return r.code == 0 && !r.past
}

func (r *rangeDecoder) bit(p *prob) uint32 {
	r.normalize()
	bound := r.width >> probBits * uint32(*p)
	if r.code < bound {
		r.width = bound
		*p += (1<<probBits - *p) >> probShift
		return 0
	}
	r.width -= bound
	r.code -= bound
	*p -= *p >> probShift
	return 1
}

// tree reads n bits, highest first, with a probability for each prefix.
func (r *rangeDecoder) tree(p []prob, n uint) uint32 {
	m := uint32(1)
	for range n {
		m = m<<1 | r.bit(&p[m])
	}
	return m - 1<<n
}

// reverse reads n bits, lowest first, with a probability for each suffix.
func (r *rangeDecoder) reverse(p []prob, n uint) uint32 {
	m, v := uint32(1), uint32(0)
	for i := range n {
		b := r.bit(&p[m])
		m = m<<1 | b
		v |= b << i
	}
	return v
}

// direct reads n bits of equal probability, highest first.
func (r *rangeDecoder) direct(n uint) uint32 {
	v := uint32(0)
	for range n {
		r.normalize()
		r.width >>= 1
		b := uint32(0)
		if r.code >= r.width {
			r.code -= r.width
			b = 1
		}
		v = v<<1 | b
	}
	return v
}
