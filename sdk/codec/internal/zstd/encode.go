package zstd

import "sync"

// Levels are how hard Encode tries: from 1, the fastest, to MaxLevel. Others
// stand for one of them where src is numbers that were shuffled: they make them
// about as small, and are faster.
const (
	Numbers  = 0 // for 5
	MaxLevel = 9
	Bits     = MaxLevel + 1 // for 5, where the bits were shuffled
	Quick    = MaxLevel + 2 // for 1
)

const (
	segment   = 8 << 10 // bytes that are looked at together to find where blocks end
	samples   = 1 << 10 // of them
	unlike    = samples * 7 / 8
	minMatch  = 3
	blockHead = 3
)

// encoder is what one compression works with.
type encoder struct {
	searcher
	coder sequenceCoder
	code  huffmanCode
	room  []byte
}

// idle are encoders that are not in use.
var idle = sync.Pool{New: func() any { return new(encoder) }}

// Encode appends src to dst as a frame that states its size and has no
// checksum. level is in 1..MaxLevel, Numbers, Bits or Quick. It may be called by any number of
// goroutines at once.
func Encode(dst, src []byte, level int) []byte {
	e := idle.Get().(*encoder)
	defer idle.Put(e)
	e.begin(src, level)
	defer e.end()
	dst = appendFrameHeader(dst, len(src))
	for at := 0; ; {
		n := blockEnd(src[at:])
		last := at+n == len(src)
		dst = e.appendBlock(dst, at, at+n, last)
		if at += n; last {
			return dst
		}
	}
}

// appendFrameHeader appends that of a frame whose window is its content.
func appendFrameHeader(dst []byte, n int) []byte {
	dst = le.AppendUint32(dst, magic)
	const single = 1 << 5
	switch {
	case n < 256:
		return append(dst, single, byte(n))
	case n < 256+1<<16:
		return le.AppendUint16(append(dst, 1<<6|single), uint16(n-256))
	}
	return le.AppendUint32(append(dst, 2<<6|single), uint32(n))
}

// blockEnd is how many bytes the next block has: as far as they are alike, as
// one code serves all of its bytes.
func blockEnd(src []byte) int {
	most := min(len(src), maxBlock)
	if most <= 2*segment {
		return most
	}
	var first, next sample
	first.take(src[:segment])
	at := segment
	for ; at+segment <= most; at += segment {
		if next.take(src[at : at+segment]); first.unlike(&next) {
			return at
		}
	}
	if len(src)-at < segment { // what is left is not worth one of its own
		return most
	}
	return at
}

// sample is some of the bytes of a segment.
type sample struct {
	run    bool // all are alike
	first  byte
	counts [256]uint16 // unless they are
}

// take takes a sample of a segment.
func (s *sample) take(b []byte) {
	w := le.Uint64(b)
	s.first, s.run = byte(w), w == w<<8|w&255
	for i := 64; i+64 <= len(b) && s.run; i += 64 {
		s.run = le.Uint64(b[i:]) == w
	}
	if s.run {
		return
	}
	clear(s.counts[:])
	var others [256]uint16 // equal bytes in a row do not wait for each other
	for i := 0; i+64 <= len(b); i += 64 {
		x := le.Uint64(b[i:])
		s.counts[uint8(x)]++
		others[uint8(x>>8)]++
		s.counts[uint8(x>>16)]++
		others[uint8(x>>24)]++
		s.counts[uint8(x>>32)]++
		others[uint8(x>>40)]++
		s.counts[uint8(x>>48)]++
		others[uint8(x>>56)]++
	}
	for i, n := range others {
		s.counts[i] += n
	}
}

// unlike reports whether one code can not serve both segments.
func (s *sample) unlike(o *sample) bool {
	if s.run || o.run {
		return s.run != o.run || s.first != o.first
	}
	sum := 0
	for i, n := range s.counts {
		d := int(n) - int(o.counts[i])
		sum += max(d, -d)
	}
	return sum > unlike
}

// appendBlock appends the block of bytes from..to.
func (e *encoder) appendBlock(dst []byte, from, to int, last bool) []byte {
	b := e.src[from:to]
	head := len(dst)
	var flag uint32
	if last {
		flag = 1
	}
	put := func(kind, n int) {
		h := flag | uint32(kind)<<1 | uint32(n)<<3
		dst[head], dst[head+1], dst[head+2] = byte(h), byte(h>>8), byte(h>>16)
	}
	dst = append(dst, 0, 0, 0)
	if len(b) > 0 && allAlike(b) {
		put(kindRLE, len(b))
		if e.next == from {
			e.next = to // runs need no search
		}
		return append(dst, b[0])
	}
	before := e.repeat
	e.block(from, to)
	if len(e.seqs) > 0 || e.worth < noisy || !noise(b) {
		literals := e.literals
		if len(e.seqs) == 0 {
			literals = b
		}
		dst = e.appendLiterals(dst, literals)
		dst = e.coder.append(dst, e.seqs)
		if n := len(dst) - head - blockHead; n < len(b) {
			put(kindFull, n)
			return dst
		}
	}
	e.repeat = before
	put(kindRaw, len(b))
	return append(dst[:head+blockHead], b...)
}

// allAlike reports whether b, which is not empty, is a run of one byte.
func allAlike(b []byte) bool {
	w := uint64(b[0]) * 0x0101010101010101
	for ; len(b) >= 32; b = b[32:] {
		if (le.Uint64(b)^w)|(le.Uint64(b[8:])^w)|(le.Uint64(b[16:])^w)|(le.Uint64(b[24:])^w) != 0 {
			return false
		}
	}
	for _, c := range b {
		if c != byte(w) {
			return false
		}
	}
	return true
}

// noise reports whether the bytes of a block look random, one by one and in
// how they differ from those before.
func noise(b []byte) bool {
	const part = segment / 4
	if len(b) < segment {
		return false
	}
	var values, changes tally
	var differences [part - 1]byte
	for at := 0; at+part <= len(b); at += 4 * segment {
		sample := b[at : at+part]
		values.add(sample)
		for i := range differences {
			differences[i] = sample[i+1] - sample[i]
		}
		changes.add(differences[:])
	}
	return even(values.sum()) && even(changes.sum())
}

// smooth reports whether each byte of a block says much of the next one, as a few
// of all differences are most of them.
func smooth(b []byte) bool {
	const part = segment / 4
	if len(b) < part {
		return false
	}
	var changes tally
	var differences [part - 1]byte
	for at := 0; at+part <= len(b); at += 4 * segment {
		sample := b[at : at+part]
		for i := range differences {
			differences[i] = sample[i+1] - sample[i]
		}
		changes.add(differences[:])
	}
	var total, equal uint64
	for _, n := range changes.sum() {
		total += uint64(n)
		equal += uint64(n) * uint64(n)
	}
	return equal*24 > total*total
}

// even reports whether all bytes are about as frequent.
func even(counts *[256]uint32) bool {
	// Two random ones are equal once in 256 times, and more often where some
	// are frequent.
	var total, equal uint64
	for _, n := range counts {
		total += uint64(n)
		equal += uint64(n) * uint64(n)
	}
	return (equal-total)*256*64 < total*total*67
}

// appendLiterals appends the literals of a block. RFC 8878, 3.1.1.3.1.
func (e *encoder) appendLiterals(dst, b []byte) []byte {
	if len(b) < 32 {
		return append(appendSize(dst, kindRaw, len(b)), b...)
	}
	var t tally
	t.add(b)
	counts := t.sum()
	if counts[b[0]] == uint32(len(b)) {
		return append(appendSize(dst, kindRLE, len(b)), b[0])
	}
	if !e.code.build(counts) {
		return append(appendSize(dst, kindRaw, len(b)), b...)
	}
	bits := 0
	for s, n := range counts {
		bits += int(n) * int(e.code.widths[s])
	}
	if bits/8 >= len(b)-len(b)>>6-8 {
		return append(appendSize(dst, kindRaw, len(b)), b...)
	}
	head := len(dst)
	if need := len(b)*maxCodeBits/8 + 64; len(e.room) < need {
		e.room = make([]byte, need)
	}
	headSize, width, format := 3, 10, 1 // of the numbers; how many streams, and their width
	switch {
	case len(b) < 256:
		format = 0
	case len(b) >= 16<<10:
		headSize, width, format = 5, 18, 3
	case len(b) >= 1<<10:
		headSize, width, format = 4, 14, 2
	}
	dst = append(dst, make([]byte, headSize)...)
	described := e.code.describe(dst)
	if described == nil {
		return append(appendSize(dst[:head], kindRaw, len(b)), b...)
	}
	dst = described
	if format == 0 {
		dst = append(dst, e.room[:e.code.fill(e.room, b)]...)
	} else {
		sizes := len(dst)
		dst = append(dst, 0, 0, 0, 0, 0, 0)
		part := (len(b) + 3) / 4
		for i := range 4 {
			n := e.code.fill(e.room, b[i*part:min((i+1)*part, len(b))])
			dst = append(dst, e.room[:n]...)
			if i < 3 {
				le.PutUint16(dst[sizes+2*i:], uint16(n))
			}
		}
	}
	packed := len(dst) - head - headSize
	if packed >= len(b)-len(b)>>6-2 {
		return append(appendSize(dst[:head], kindRaw, len(b)), b...)
	}
	h := uint64(kindFull) | uint64(format)<<2 | uint64(len(b))<<4 | uint64(packed)<<(4+width)
	for i := range headSize {
		dst[head+i] = byte(h >> (8 * i))
	}
	return dst
}

// appendSize appends the header of literals that are not packed.
func appendSize(dst []byte, kind, n int) []byte {
	switch {
	case n < 32:
		return append(dst, byte(kind|n<<3))
	case n < 4096:
		return append(dst, byte(kind|1<<2|n<<4), byte(n>>4))
	}
	return append(dst, byte(kind|3<<2|n<<4), byte(n>>4), byte(n>>12))
}
