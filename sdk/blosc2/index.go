package blosc2

import (
	"encoding/binary"
	"strconv"
	"sync"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
)

// Marks in the top byte of an index entry whose chunk is not stored.
const (
	markZeros  = 0x81
	markNaNs   = 0x82
	markUninit = 0x84
)

// Entry is where a chunk is.
type Entry struct {
	// Special is what the chunk consists of if nothing is stored of it.
	Special blosc.Special
	// At is its offset from the end of the header; in a sparse frame, the
	// number of its file.
	At int64
}

// ParseEntry reads an entry of a decoded index. ErrCorrupt for a negative one
// that names no kind of elements.
func ParseEntry(v int64) (Entry, error) {
	switch {
	case v >= 0:
		return Entry{At: v}, nil
	case v>>56&1 != 0:
		return Entry{Special: blosc.Zeros}, nil
	case v>>58&1 != 0:
		return Entry{Special: blosc.Uninit}, nil
	case v>>57&1 != 0:
		return Entry{Special: blosc.NaNs}, nil
	}
	return Entry{}, fault.New(fault.ErrCorrupt, "frame", "index", "an entry of no known kind")
}

// value is what ParseEntry reads.
func (e Entry) value() int64 {
	mark := uint64(0)
	switch e.Special {
	case blosc.Zeros:
		mark = markZeros
	case blosc.NaNs:
		mark = markNaNs
	case blosc.Uninit:
		mark = markUninit
	default:
		return e.At
	}
	return int64(mark << 56)
}

// eagerIndex is how many bytes of a decoded index are kept whole. Of a larger
// one only the block is decoded that an entry lies in, so that 300 bytes that
// describe 2^28 chunks cost no 2 GiB.
const eagerIndex = 8 << 20

// index is the offsets of a frame's chunks. Safe for concurrent use.
type index struct {
	count int64
	same  int64 // of all entries, if chunk and plain are nil
	plain []byte
	chunk *blosc.Chunk

	mu    sync.Mutex // of what was decoded last
	block int
	buf   []byte
}

// newIndex reads an index chunk; count -1: its size says how many entries
// there are. ErrLimit for more than limit decoded bytes at once.
func newIndex(packed []byte, count, limit int64) (*index, error) {
	h, err := blosc.ParseHeader(packed)
	if err != nil {
		return nil, indexError(err)
	}
	if count < 0 {
		count = int64(h.Size / 8)
	}
	if int64(h.Size) != 8*count {
		return nil, fault.New(fault.ErrCorrupt, "frame", "index", strconv.Itoa(h.Size)+" bytes for "+strconv.FormatInt(count, 10)+" chunks")
	}
	x := &index{count: count, block: -1}
	switch {
	case h.Special == blosc.Repeated && h.PackedSize == h.Len()+8 && h.PackedSize <= len(packed):
		x.same = int64(binary.LittleEndian.Uint64(packed[h.Len():]))
		return x, nil
	case h.Special == blosc.Zeros:
		return x, nil
	}
	x.chunk, err = blosc.Open(packed, blosc.Options{Limit: h.Size})
	if err != nil {
		return nil, indexError(err)
	}
	whole := h.Size <= eagerIndex || h.BlockSize%8 != 0
	held := h.BlockSize
	if whole {
		held = h.Size
	}
	if int64(held) > limit {
		return nil, overLimit("an index of which " + strconv.Itoa(held) + " bytes are decoded at once")
	}
	if whole {
		x.plain, err = x.chunk.Decode(nil)
	}
	return x, indexError(err)
}

// at returns entry i, which is less than count.
func (x *index) at(i int64) (Entry, error) {
	switch {
	case x.plain != nil:
		return ParseEntry(int64(binary.LittleEndian.Uint64(x.plain[8*i:])))
	case x.chunk == nil:
		return ParseEntry(x.same)
	}
	size := int64(x.chunk.Header().BlockSize)
	block := int(8 * i / size)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.block != block {
		x.block = -1
		var err error
		if x.buf, err = x.chunk.DecodeBlock(block, x.buf[:0]); err != nil {
			return Entry{}, indexError(err)
		}
		x.block = block
	}
	return ParseEntry(int64(binary.LittleEndian.Uint64(x.buf[8*i-int64(block)*size:])))
}

func indexError(err error) error {
	if err == nil {
		return nil
	}
	return &fault.Error{Format: "frame", Item: "index", Off: -1, Err: err}
}
