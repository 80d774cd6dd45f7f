package blosc

import (
	"encoding/binary"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
	"github.com/gridhold/gridhold/sdk/fault"
)

// Encode appends a chunk of Blosc 2 that holds src to dst; they must not
// overlap. It is never larger than src and ExtendedHeaderSize bytes. It
// returns ErrInvalid for parameters that are wrong, ErrLimit for more than
// MaxSize bytes. Safe for concurrent use.
func Encode(dst, src []byte, p Params) ([]byte, error) {
	if err := p.check(len(src)); err != nil {
		return nil, err
	}
	e := newEncoder(src, p)
	e.version, e.header = version2, ExtendedHeaderSize
	e.flags = flagExtended
	e.blockSize = p.sizeOfBlocks(len(src))
	e.unsplit = !p.split(e.blockSize) || e.blockSize%p.typeSize() > 0
	return e.encode(dst, minSize)
}

// Encode1 is Encode for a chunk of Blosc 1, as Zarr's codec "blosc" has them.
// At most one filter, Shuffle or BitShuffle; Split and Dictionary are left alone.
func Encode1(dst, src []byte, p Params) ([]byte, error) {
	p.Dictionary, p.Split = false, SplitDefault
	if err := p.check(len(src)); err != nil {
		return nil, err
	}
	e := newEncoder(src, p)
	e.version, e.header = version1, HeaderSize
	if len(p.Filters) > 0 {
		switch f := p.Filters[0]; {
		case len(p.Filters) > 1 || f.Meta != 0 || f.ID != Shuffle && f.ID != BitShuffle && f.ID != NoFilter:
			return nil, invalid("filters", "Blosc 1 has one shuffle")
		case f.ID == Shuffle:
			e.flags = flagShuffle
		case f.ID == BitShuffle:
			e.flags = flagBitShuffle
		}
	}
	e.blockSize = p.sizeOfBlocks1(len(src))
	e.unsplit = !p.split1(e.blockSize) || e.blockSize%p.typeSize() > 0
	return e.encode(dst, minStream)
}

// split1 is split as Blosc 1 does.
func (p *Params) split1(n int) bool {
	return p.Codec != Zstd && p.typeSize() <= maxSplit && n/p.typeSize() >= minStream
}

// sizeOfBlocks1 is sizeOfBlocks as Blosc 1 does.
func (p *Params) sizeOfBlocks1(size int) int {
	ts := p.typeSize()
	if size < ts || size == 0 {
		return 1
	}
	n := size
	switch {
	case p.BlockSize > 0:
		n = max(p.BlockSize, minStream)
	case size >= cacheSize:
		n = p.cached()
	}
	if p.Level > 0 && p.split1(n) {
		n = min(max(min(n, 256<<10)*ts, 64<<10), 1<<20)
	}
	return rounded(min(n, size), ts)
}

// EncodeBlocks appends a chunk of Blosc 2 with a block for each of blocks,
// none of which may be empty: its version is 6, which releases before 3.0 of
// the C library do not read. Errors are those of Encode; Level must not be 0.
func EncodeBlocks(dst []byte, blocks [][]byte, p Params) ([]byte, error) {
	size := 0
	for _, b := range blocks {
		size += len(b)
		if len(b) == 0 || size > MaxSize {
			return nil, invalid("blocks", "one is empty, or all are too large together")
		}
	}
	if err := p.check(size); err != nil {
		return nil, err
	}
	if len(blocks) == 0 || p.Level == 0 || p.Dictionary || p.has(Delta) {
		return nil, invalid("blocks", "none, or stored, or with a dictionary or the delta filter")
	}
	e := newEncoder(nil, p)
	defer e.release()
	e.version, e.header = versionVar, ExtendedHeaderSize
	e.flags = flagExtended | flagUnsplit | p.Codec.format()<<5
	e.size, e.blockSize = size, len(blocks)
	head := len(dst)
	out := e.appendHeader(dst)
	out[head+30] = flagVariable
	starts := len(out)
	out = append(out, make([]byte, 4*len(blocks))...)
	for i, b := range blocks {
		binary.LittleEndian.PutUint32(out[starts+4*i:], uint32(len(out)-head))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(b)))
		filtered := e.filter(b, 1, e.s)
		out = e.pack(out, filtered, e.s)
		if len(out)-head > 1<<31-1 {
			return nil, fault.New(fault.ErrLimit, "blosc", "", "the chunk has more than 2 GiB")
		}
	}
	binary.LittleEndian.PutUint32(out[head+12:], uint32(len(out)-head))
	return out, nil
}

// EncodeSpecial appends a chunk of size bytes whose elements are all alike:
// zero, NaN, anything, or (of kind Repeated) value. It returns ErrInvalid if
// size is no multiple of the element, or p.TypeSize not one of NaN's.
func EncodeSpecial(dst []byte, kind Special, size int, value []byte, p Params) ([]byte, error) {
	if err := p.check(size); err != nil {
		return nil, err
	}
	element := p.typeSize()
	switch kind {
	case Zeros:
		element = 1
	case Uninit:
	case NaNs:
		if element != 4 && element != 8 {
			return nil, invalid("type size", "NaN has 4 or 8 bytes")
		}
	case Repeated:
		element = len(value)
	default:
		return nil, invalid("kind", "none")
	}
	if element == 0 || size < 0 || size%element > 0 || kind == Repeated && size == 0 {
		return nil, invalid("size", strconv.Itoa(size)+" bytes are no multiple of "+strconv.Itoa(element))
	}
	if kind != Repeated {
		value = nil
	}
	bare := Params{TypeSize: p.TypeSize}
	e := encoder{p: bare, version: version2, header: ExtendedHeaderSize, flags: flagExtended, size: size, blockSize: p.sizeOfBlocks(size)}
	head := len(dst)
	out := append(e.appendHeader(dst), value...)
	out[head+31] = byte(kind) << shiftSpecial
	binary.LittleEndian.PutUint32(out[head+12:], uint32(len(out)-head))
	return out, nil
}

// encoder is the making of one chunk.
type encoder struct {
	p         Params
	src       []byte
	size      int
	version   byte
	flags     byte
	header    int
	blockSize int
	unsplit   bool
	effort    int    // of zstd
	base      []byte // block 0 as it will decode, for the delta filter
	dict      *dictionary
	s         *scratch
}

func newEncoder(src []byte, p Params) *encoder {
	s := scratches.Get().(*scratch)
	s.encoder = encoder{p: p, src: src, size: len(src), effort: p.effort(), s: s}
	return &s.encoder
}

// release is the end of e, which is a part of its scratch.
func (e *encoder) release() {
	s := e.s
	*e = encoder{}
	s.release()
}

// encode appends the chunk, of which less than least bytes are stored.
func (e *encoder) encode(dst []byte, least int) ([]byte, error) {
	defer e.release()
	if e.p.Level == 0 || e.size < least {
		e.flags |= flagStored
		return e.stored(dst), nil
	}
	e.flags |= e.p.Codec.format() << 5
	if e.unsplit {
		e.flags |= flagUnsplit
	}
	if e.header == ExtendedHeaderSize && e.p.has(Delta) {
		e.flags |= flagDelta
	}
	if e.p.has(Delta) {
		e.base = e.decoded()
	}
	if e.p.Dictionary {
		e.train()
	}
	head := len(dst)
	dst = block.Room(dst, e.header+e.size)
	out, zero, err := e.packed(dst)
	if err != nil {
		return nil, err
	}
	switch {
	case zero:
		out = out[:head+e.header]
		out[head+31] = byte(Zeros) << shiftSpecial
	case len(out)-head >= e.header+e.size:
		e.flags |= flagStored
		return e.stored(out[:head]), nil
	}
	binary.LittleEndian.PutUint32(out[head+12:], uint32(len(out)-head))
	return out, nil
}

// stored appends the chunk as it is.
func (e *encoder) stored(dst []byte) []byte {
	head := len(dst)
	out := append(e.appendHeader(dst), e.src...)
	binary.LittleEndian.PutUint32(out[head+12:], uint32(len(out)-head))
	return out
}

// appendHeader appends the header but for the chunk's size.
func (e *encoder) appendHeader(dst []byte) []byte {
	var h [ExtendedHeaderSize]byte
	h[0], h[1], h[2], h[3] = e.version, 1, e.flags, byte(e.p.typeSize())
	binary.LittleEndian.PutUint32(h[4:], uint32(e.size))
	binary.LittleEndian.PutUint32(h[8:], uint32(e.blockSize))
	if e.header == ExtendedHeaderSize {
		for i, f := range e.p.slots() {
			h[16+i], h[24+i] = byte(f.ID), f.Meta
		}
		h[22] = byte(e.p.Codec)
	}
	return append(dst, h[:e.header]...)
}

// packed appends the chunk with its blocks; zero: all of them are. It stops
// as soon as the chunk is larger than one that is stored.
func (e *encoder) packed(dst []byte) (out []byte, zero bool, err error) {
	head := len(dst)
	most := head + e.header + e.size
	out = e.appendHeader(dst)
	starts := len(out)
	count := (e.size-1)/e.blockSize + 1
	out = append(out, make([]byte, 4*count)...)
	if e.dict != nil {
		out[head+31] |= flagDictionary
		out = binary.LittleEndian.AppendUint32(out, uint32(len(e.dict.bytes)))
		out = append(out, e.dict.bytes...)
	}
	zero = e.header == ExtendedHeaderSize
	e.settle()
	if e.workers() <= 1 {
		for i := range count {
			binary.LittleEndian.PutUint32(out[starts+4*i:], uint32(len(out)-head))
			var ran bool
			out, ran = e.block(out, i, e.s)
			if zero = zero && ran; len(out) > most {
				return out, false, nil
			}
		}
		return out, zero, nil
	}
	l := newLine(0, count-1)
	q := newQueue(l, e.workers(), func(i int, b packedBlock) error {
		binary.LittleEndian.PutUint32(out[starts+4*i:], uint32(len(out)-head))
		out = append(out, b.bytes...)
		zero = zero && b.zero
		if len(out) > most {
			return errStored
		}
		return nil
	})
	err = l.work(e.workers(), e.s, func(i int, s *scratch) error {
		var b packedBlock
		b.bytes, b.zero = e.block(s.packed[:0], i, s)
		s.packed = q.put(i, b)
		return nil
	})
	if err == errStored {
		err = nil
	}
	return out, zero && len(out) <= most, err
}

// workers is how many blocks are packed at once.
func (e *encoder) workers() int {
	if e.size < worthWorkers {
		return 1
	}
	return e.p.Workers
}

// errStored ends the packing of what is better stored.
var errStored = fault.New(fault.ErrLimit, "blosc", "", "does not get smaller")

// block appends the streams of block i; zero: it has no others.
func (e *encoder) block(out []byte, i int, s *scratch) (_ []byte, zero bool) {
	b := e.src[i*e.blockSize : min((i+1)*e.blockSize, e.size)]
	streams := 1
	if !e.unsplit && len(b) == e.blockSize {
		streams = e.p.typeSize()
	}
	b = e.filter(b, i, s)
	n := len(b) / streams
	zero = true
	for k := range streams {
		var ran bool
		out, ran = e.stream(out, b[k*n:(k+1)*n], s)
		zero = zero && ran
	}
	return out, zero
}

// stream appends a stream with its size; zero: it is a run of zeros.
func (e *encoder) stream(out, b []byte, s *scratch) (_ []byte, zero bool) {
	if e.header == ExtendedHeaderSize && run(b) {
		v := b[0]
		out = binary.LittleEndian.AppendUint32(out, uint32(-int32(v)))
		if v > 0 {
			out = append(out, 1)
		}
		return out, v == 0
	}
	at := len(out)
	out = append(out, 0, 0, 0, 0)
	out = e.pack(out, b, s)
	binary.LittleEndian.PutUint32(out[at:], uint32(len(out)-at-4))
	return out, false
}

// run reports whether all bytes of b are alike.
func run(b []byte) bool {
	if len(b) < 2 {
		return len(b) == 1
	}
	x := uint64(b[0]) * 0x0101010101010101
	n := 0
	for ; n+8 <= len(b); n += 8 {
		if binary.LittleEndian.Uint64(b[n:]) != x {
			return false
		}
	}
	for ; n < len(b); n++ {
		if b[n] != b[0] {
			return false
		}
	}
	return true
}
