package blosc

import (
	"encoding/binary"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// HeaderSize is the number of bytes of a chunk's header.
const HeaderSize = 16

// version is of the format that this package decodes. Another number means
// other bytes: Blosc 2 begins at 3.
const version = 2

// Flags of a chunk.
const (
	flagShuffle    = 0x01
	flagStored     = 0x02
	flagBitShuffle = 0x04
	flagUnsplit    = 0x10
)

const (
	maxSplit  = 16  // elements of more bytes are not split into streams
	minStream = 128 // elements to a block, below which it is not split
)

// Compressor is what a chunk's streams are packed with.
type Compressor uint8

// The compressors. LZ4HC writes what LZ4 reads.
const (
	BloscLZ Compressor = iota
	LZ4
	Snappy
	Zlib
	Zstd
)

// String returns the name that Blosc gives the compressor.
func (c Compressor) String() string {
	if names := [...]string{"blosclz", "lz4", "snappy", "zlib", "zstd"}; int(c) < len(names) {
		return names[c]
	}
	return "compressor " + strconv.Itoa(int(c))
}

// Shuffle is how the bytes of a chunk's blocks were rearranged.
type Shuffle uint8

// The arrangements.
const (
	NoShuffle Shuffle = iota
	ByteShuffle
	BitShuffle
)

// Header is what a chunk says of itself. Sizes are in bytes.
type Header struct {
	TypeSize   int // of an element, at least 1
	Size       int // decoded
	BlockSize  int // of each block, decoded; the last one may be shorter
	PackedSize int // of the whole chunk, with this header
	Compressor Compressor
	Shuffle    Shuffle
	Stored     bool // the decoded bytes follow the header
	Unsplit    bool // each block is one stream
}

// ParseHeader reads the header that chunk begins with: ErrCorrupt if it can
// not be true of those bytes, ErrUnsupported for another version of the format
// or a compressor without a name.
func ParseHeader(chunk []byte) (Header, error) {
	if len(chunk) < HeaderSize {
		return Header{}, corrupt("too short for a header")
	}
	if chunk[0] != version {
		return Header{}, fault.New(fault.ErrUnsupported, "blosc", "", "version "+strconv.Itoa(int(chunk[0]))+" of the format, want "+strconv.Itoa(version))
	}
	flags := chunk[2]
	size, blockSize, packed := binary.LittleEndian.Uint32(chunk[4:]), binary.LittleEndian.Uint32(chunk[8:]), binary.LittleEndian.Uint32(chunk[12:])
	h := Header{
		TypeSize:   max(int(chunk[3]), 1), // some writers leave 0 for bytes
		Compressor: Compressor(flags >> 5),
		Stored:     flags&flagStored != 0,
		Unsplit:    flags&flagUnsplit != 0,
	}
	const most = 1<<31 - 1
	if size > most || blockSize > most || packed > most {
		return Header{}, corrupt("a size is negative")
	}
	h.Size, h.BlockSize, h.PackedSize = int(size), int(blockSize), int(packed)
	switch {
	case flags&flagShuffle != 0 && flags&flagBitShuffle != 0:
		return Header{}, fault.New(fault.ErrUnsupported, "blosc", "", "both shuffles at once")
	case flags&flagShuffle != 0:
		h.Shuffle = ByteShuffle
	case flags&flagBitShuffle != 0:
		h.Shuffle = BitShuffle
	}
	return h, h.check(len(chunk))
}

// check compares the sizes with each other and with the chunk's.
func (h Header) check(have int) error {
	switch {
	case h.PackedSize < HeaderSize || h.PackedSize > have:
		return corrupt("states " + strconv.Itoa(h.PackedSize) + " bytes of chunk, has " + strconv.Itoa(have))
	case h.Size == 0:
		return nil
	case h.Stored && h.PackedSize != HeaderSize+h.Size:
		return corrupt("is stored, but its sizes differ")
	case h.Stored:
		return nil
	case h.Compressor > Zstd:
		return fault.New(fault.ErrUnsupported, "blosc", "", h.Compressor.String())
	case h.BlockSize == 0:
		return corrupt("has blocks of no bytes")
	case int64(h.PackedSize) < HeaderSize+4*int64(h.Blocks()):
		return corrupt("too short for the starts of its blocks")
	}
	return nil
}

// Blocks is the number of blocks.
func (h Header) Blocks() int {
	if h.Size == 0 || h.BlockSize == 0 {
		return 0
	}
	return (h.Size-1)/h.BlockSize + 1
}

// BlockLen is the decoded size of block i.
func (h Header) BlockLen(i int) int { return min(h.BlockSize, h.Size-i*h.BlockSize) }

// streams is how many streams a block of n bytes consists of.
func (h Header) streams(n int) int {
	if h.Unsplit || n < h.BlockSize || h.TypeSize > maxSplit || n/h.TypeSize < minStream {
		return 1
	}
	return h.TypeSize
}

func corrupt(why string) error { return fault.New(fault.ErrCorrupt, "blosc", "", why) }
