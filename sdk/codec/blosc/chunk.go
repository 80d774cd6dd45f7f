package blosc

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
	"github.com/gridhold/gridhold/sdk/fault"
)

// Options are those of decoding.
type Options struct {
	// Limit is the most bytes that the chunk may decode to; 0: MaxSize. A
	// chunk of 32 bytes may state 2 GiB, and be right.
	Limit int
	// TypeSize is that of the container, where it has elements of more than
	// 255 bytes; 0: the chunk's.
	TypeSize int
	// Workers is how many blocks are decoded at once, of what has 128 KiB or
	// more; 0: 1.
	Workers int
	Plugins Plugins
}

// Chunk decodes the blocks of one chunk. It keeps no decoded bytes. Safe for
// concurrent use.
type Chunk struct {
	h      Header
	o      Options
	src    source
	starts []byte // int32 each; nil where there are none
	ends   []int  // of what may be read of each block; nil: see end
	apart  bool   // blocks are read one by one
	dict   []byte // nil: none
	zstd   *block.ZstdDictionary
	lens   []int // where the blocks of any lengths begin in the decoded bytes, and end; else nil
}

// source is where the chunk's bytes are.
type source interface {
	// bytes returns n bytes from off on. It may use buf for them.
	bytes(off, n int, buf *[]byte) ([]byte, error)
	// fill reads len(dst) bytes from off on.
	fill(dst []byte, off int) error
}

// Open reads what a chunk says of its blocks. b begins with the chunk; bytes
// after it are ignored. The Chunk refers to b. It returns ErrCorrupt,
// ErrUnsupported for what needs a plugin that is not among the options, and
// ErrLimit.
func Open(b []byte, o Options) (*Chunk, error) {
	h, err := ParseHeader(b)
	if err != nil {
		return nil, err
	}
	if h.PackedSize > len(b) {
		return nil, corrupt("states " + strconv.Itoa(h.PackedSize) + " bytes of chunk, has " + strconv.Itoa(len(b)))
	}
	return open(h, memory(b[:h.PackedSize]), o, false)
}

// ahead is how much OpenAt reads at first: the starts of most chunks too.
const ahead = 4 << 10

// OpenAt is Open over a reader, at whose offset 0 the chunk begins, and which has
// size bytes. It reads the header, the starts and the dictionary; decoding a
// block reads that block. A chunk with blocks of any lengths is read as a
// whole. Errors are those of Open, and r's.
func OpenAt(r io.ReaderAt, size int64, o Options) (*Chunk, error) {
	first := make([]byte, max(min(size, ahead), 0))
	if err := (reader{r: r}).fill(first, 0); err != nil {
		return nil, err
	}
	h, err := ParseHeader(first)
	if err != nil {
		return nil, err
	}
	if int64(h.PackedSize) > size {
		return nil, corrupt("states " + strconv.Itoa(h.PackedSize) + " bytes of chunk, has " + strconv.FormatInt(size, 10))
	}
	src := reader{first, r}
	if h.PackedSize > len(first) && h.Variable == 0 {
		return open(h, src, o, true)
	}
	// Small; or the sizes of its blocks lie all over it.
	all, err := src.bytes(0, h.PackedSize, new([]byte))
	if err != nil {
		return nil, err
	}
	return open(h, memory(all), o, false)
}

// open reads what follows the header. apart: blocks are read one by one.
func open(h Header, src source, o Options, apart bool) (*Chunk, error) {
	if o.Limit > 0 && h.Size > o.Limit {
		return nil, block.OverLimit("blosc", o.Limit)
	}
	if o.TypeSize == 0 {
		o.TypeSize = h.TypeSize
	}
	c := &Chunk{h: h, o: o, src: src, apart: apart}
	if !h.packed() {
		return c, nil
	}
	if err := c.supported(); err != nil {
		return nil, err
	}
	var err error
	if c.starts, err = src.bytes(h.Len(), 4*h.Blocks(), new([]byte)); err != nil {
		return nil, err
	}
	if h.Dictionary {
		if err := c.readDictionary(); err != nil {
			return nil, err
		}
	}
	switch {
	case h.Variable > 0:
		err = c.measure()
	case apart:
		c.part()
	}
	return c, err
}

// supported reports what decoding needs and is not there.
func (c *Chunk) supported() error {
	if c.h.Codec > Zstd && c.o.Plugins.Codecs[c.h.Codec] == nil {
		return unsupported(c.h.Codec.String() + " is a plugin")
	}
	for _, f := range c.h.Filters {
		if !f.ID.here() && c.o.Plugins.Filters[f.ID] == nil {
			return unsupported(f.ID.String() + " is a plugin")
		}
	}
	return nil
}

// body is where the streams may begin.
func (c *Chunk) body() int { return c.h.Len() + len(c.starts) }

// readDictionary reads the dictionary after the starts.
func (c *Chunk) readDictionary() error {
	var size [4]byte
	at := c.body()
	if at+len(size) > c.h.PackedSize {
		return corrupt("too short for its dictionary")
	}
	if err := c.src.fill(size[:], at); err != nil {
		return err
	}
	n := int64(int32(binary.LittleEndian.Uint32(size[:])))
	if n <= 0 || n > maxDictionary || n > int64(c.h.PackedSize-at-len(size)) {
		return corrupt("has a dictionary of " + strconv.FormatInt(n, 10) + " bytes")
	}
	var err error
	if c.dict, err = c.src.bytes(at+len(size), int(n), new([]byte)); err != nil {
		return err
	}
	switch c.h.Codec {
	case LZ4, LZ4HC:
		return nil
	case Zstd:
		if c.zstd, err = block.NewZstdDictionary(c.dict); err != nil {
			return corrupt("its dictionary: " + err.Error())
		}
		return nil
	}
	return corrupt(c.h.Codec.String() + " has no dictionaries")
}

// start is where block i begins.
func (c *Chunk) start(i int) (int, error) {
	at := int(int32(binary.LittleEndian.Uint32(c.starts[4*i:])))
	if at < c.body() || at >= c.h.PackedSize {
		return 0, corrupt("begins outside the chunk")
	}
	return at, nil
}

// end is where what may be read of block i ends: where the next one begins.
func (c *Chunk) end(i int) int {
	switch {
	case c.ends != nil:
		return c.ends[i]
	case !c.apart:
		return c.h.PackedSize
	}
	return c.bound(i)
}

// bound is where block i ends, looked for.
func (c *Chunk) bound(i int) int {
	at, next := c.begin(i), c.h.PackedSize
	for k := range c.h.Blocks() {
		if other := c.begin(k); other > at && other < next {
			next = other
		}
	}
	return c.longest(i, next)
}

// begin is where block i is said to begin.
func (c *Chunk) begin(i int) int { return int(int32(binary.LittleEndian.Uint32(c.starts[4*i:]))) }

// longest is where block i ends, at or before next: what is longer than a
// block can be has a gap behind it.
func (c *Chunk) longest(i, next int) int {
	n := c.h.blockLen(i)
	return min(next, c.begin(i)+n+4*c.h.streams(n))
}

// manyBlocks is from how many on the ends of all blocks are found at once. Of
// fewer that costs more than looking through them for those that are asked for.
const manyBlocks = 4096

// part finds where each of many blocks ends.
func (c *Chunk) part() {
	n := c.h.Blocks()
	if n < manyBlocks {
		return
	}
	order := make([]int, n)
	for i := range order {
		order[i] = c.begin(i)
	}
	slices.Sort(order)
	c.ends = make([]int, n)
	for i := range c.ends {
		next, _ := slices.BinarySearch(order, c.begin(i)+1)
		c.ends[i] = c.h.PackedSize
		if next < n {
			c.ends[i] = min(order[next], c.h.PackedSize)
		}
		c.ends[i] = c.longest(i, c.ends[i])
	}
}

// measure reads the sizes of blocks of any lengths.
func (c *Chunk) measure() error {
	n := c.h.Variable
	c.ends = make([]int, n)
	c.lens = make([]int, n+1)
	for i := range n {
		at, err := c.start(i)
		if err != nil {
			return blockError(i, err)
		}
		c.ends[i] = c.h.PackedSize
		if i > 0 {
			c.ends[i-1] = at
		}
		var size [4]byte
		if at+len(size) > c.h.PackedSize {
			return blockError(i, corrupt("lies outside the chunk"))
		}
		if err := c.src.fill(size[:], at); err != nil {
			return err
		}
		k := int64(binary.LittleEndian.Uint32(size[:]))
		if k == 0 || k > int64(c.h.Size-c.lens[i]) || k > MaxBlockSize {
			return blockError(i, corrupt("has more bytes than the chunk, or none"))
		}
		c.lens[i+1] = c.lens[i] + int(k)
		if i > 0 && at < int(int32(binary.LittleEndian.Uint32(c.starts[4*i-4:])))+4 {
			return blockError(i, corrupt("begins before the end of the one before it"))
		}
	}
	if c.lens[n] != c.h.Size {
		return corrupt("its blocks have " + strconv.Itoa(c.lens[n]) + " bytes together, want " + strconv.Itoa(c.h.Size))
	}
	return nil
}

// Header returns the chunk's header.
func (c *Chunk) Header() Header { return c.h }

// Blocks is the number of blocks. Stored and special chunks have them too.
func (c *Chunk) Blocks() int { return c.h.Blocks() }

// Block returns which of the decoded bytes are those of block i, from and to
// before. It panics if i is not in [0, Blocks()).
func (c *Chunk) Block(i int) (from, to int) {
	if i < 0 || i >= c.h.Blocks() {
		panic("blosc: no block " + strconv.Itoa(i))
	}
	if c.lens != nil {
		return c.lens[i], c.lens[i+1]
	}
	from = i * c.h.BlockSize
	return from, from + c.h.blockLen(i)
}

func blockError(i int, err error) error {
	return &fault.Error{Format: "blosc", Item: "block " + strconv.Itoa(i), Off: -1, Err: err}
}

// memory is a chunk in memory.
type memory []byte

func (m memory) bytes(off, n int, _ *[]byte) ([]byte, error) { return m[off : off+n : off+n], nil }

func (m memory) fill(dst []byte, off int) error {
	copy(dst, m[off:])
	return nil
}

// reader is a chunk behind a reader, of which the first bytes are here.
type reader struct {
	first []byte
	r     io.ReaderAt
}

func (r reader) bytes(off, n int, buf *[]byte) ([]byte, error) {
	if off+n <= len(r.first) {
		return r.first[off : off+n : off+n], nil
	}
	b := sized(buf, n)
	return b, r.fill(b, off)
}

func (r reader) fill(dst []byte, off int) error {
	if off+len(dst) <= len(r.first) {
		copy(dst, r.first[off:])
		return nil
	}
	n, err := r.r.ReadAt(dst, int64(off))
	if n == len(dst) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = fault.At(fault.ErrCorrupt, "blosc", "", int64(off), "ends before the chunk does")
	}
	return err
}
