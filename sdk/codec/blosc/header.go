package blosc

import (
	"encoding/binary"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Sizes of headers, in bytes.
const (
	HeaderSize         = 16 // of Blosc 1
	ExtendedHeaderSize = 32 // of Blosc 2
)

// Limits of the format.
const (
	MaxSize       = 1<<31 - 1 - ExtendedHeaderSize // bytes of a decoded chunk
	MaxBlockSize  = 536866816
	maxDictionary = 32 << 10
)

// Versions of the format.
const (
	version1   = 2 // Blosc 1; below: before its first release
	versionOld = 3 // Blosc 2, before its release: the last filter was not set
	version2   = 5
	versionVar = 6 // blocks of any lengths; newer ones may be alike
)

// Flags of a chunk. Both shuffles at once mean an extended header.
const (
	flagShuffle    = 0x01
	flagStored     = 0x02
	flagBitShuffle = 0x04
	flagDelta      = 0x08
	flagUnsplit    = 0x10
	flagExtended   = flagShuffle | flagBitShuffle
)

// Flags of an extended header.
const (
	flagDictionary   = 0x01 // at 31
	flagBigEndian    = 0x02
	flagLazy         = 0x08
	flagInstrumented = 0x80
	shiftSpecial     = 4
	flagVariable     = 0x01 // at 30
)

// In Blosc 1 a flag says what is split only since 1.11; before, sizes did.
const (
	maxSplit  = 16
	minStream = 128
)

// Special is what all elements of a chunk without blocks are.
type Special uint8

// The special chunks.
const (
	NotSpecial Special = iota
	Zeros
	NaNs
	Repeated // the element follows the header
	Uninit   // they are anything; here: zero
)

// Header is what a chunk says of itself. Sizes are in bytes.
type Header struct {
	Version    int
	TypeSize   int // of an element, at least 1; 1 also for elements of more than 255
	Size       int // decoded
	BlockSize  int // of each block, decoded; the last one may be shorter; 0 where they have any lengths
	PackedSize int // of the whole chunk, with this header
	Codec      Codec
	CodecMeta  byte // parameter of a plugin
	Filters    [MaxFilters]Filter
	Special    Special
	Variable   int  // how many blocks of any lengths; 0 where they have one size
	Extended   bool // the header is that of Blosc 2
	Stored     bool // the decoded bytes follow the header
	Unsplit    bool // each block is one stream
	Dictionary bool // one follows the starts
}

// ParseHeader reads the header that a chunk begins with, of which b holds
// ExtendedHeaderSize bytes or all that there are: ErrCorrupt if it
// contradicts itself, ErrUnsupported for another version of the format or a
// codec without a name. It does not look at how long b is otherwise.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, corrupt("too short for a header")
	}
	flags := b[2]
	size, blockSize, packed := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])
	h := Header{
		Version:  int(b[0]),
		TypeSize: int(b[3]),
		Extended: flags&flagExtended == flagExtended,
		Stored:   flags&flagStored != 0,
		Unsplit:  flags&flagUnsplit != 0,
	}
	const most = 1<<31 - 1
	if size > most || blockSize > most || packed > most {
		return Header{}, corrupt("a size is negative")
	}
	h.Size, h.BlockSize, h.PackedSize = int(size), int(blockSize), int(packed)
	switch {
	case h.Version == 0:
		return Header{}, unsupported("version 0 of the format")
	case h.PackedSize < h.Len():
		return Header{}, corrupt("states " + strconv.Itoa(h.PackedSize) + " bytes of chunk, less than its header")
	case h.Extended && len(b) < ExtendedHeaderSize:
		return Header{}, corrupt("too short for its header")
	}
	var err error
	if h.Extended {
		err = h.parseExtension(b)
	} else {
		h.parseFlags(flags)
	}
	if err != nil {
		return Header{}, err
	}
	if format := flags >> 5; int(format) < len(formats) {
		h.Codec = formats[format]
		if h.Codec == LZ4 && h.Extended && Codec(b[22]) == LZ4HC { // who wrote it
			h.Codec = LZ4HC
		}
	} else if format == formatPlugin && h.Extended {
		h.Codec = Codec(b[22])
	} else if h.packed() {
		return Header{}, unsupported("streams of format " + strconv.Itoa(int(format)))
	}
	return h, h.check()
}

// parseFlags makes the pipeline of a chunk of Blosc 1.
func (h *Header) parseFlags(flags byte) {
	h.TypeSize = max(h.TypeSize, 1) // some writers leave 0 for bytes
	if flags&flagDelta != 0 {
		h.Filters[MaxFilters-2].ID = Delta
	}
	switch {
	case flags&flagBitShuffle != 0:
		h.Filters[MaxFilters-1].ID = BitShuffle
	case flags&flagShuffle != 0 && h.TypeSize > 1:
		h.Filters[MaxFilters-1].ID = Shuffle
	}
}

// parseExtension reads the second half of the header.
func (h *Header) parseExtension(b []byte) error {
	for i := range h.Filters {
		h.Filters[i] = Filter{FilterID(b[16+i]), b[24+i]}
	}
	if h.Version == versionOld {
		h.Filters[MaxFilters-1] = Filter{}
	}
	h.CodecMeta = b[23]
	variable, flags := b[30], b[31]
	h.Dictionary = flags&flagDictionary != 0
	h.Special = Special(flags >> shiftSpecial & 7)
	switch {
	case h.Version > versionVar && variable&^flagVariable != 0:
		return unsupported("version " + strconv.Itoa(h.Version) + " of the format")
	case flags&flagLazy != 0:
		return corrupt("is a mark of memory, not a chunk")
	case flags&(flagInstrumented|flagBigEndian) != 0 && h.Special == NotSpecial:
		return unsupported("a chunk of big endian or instrumented bytes")
	case h.Special > Uninit:
		return corrupt("has special elements of no known kind")
	case h.TypeSize == 0:
		return corrupt("has elements of no bytes")
	case h.BlockSize == 0 || h.BlockSize > MaxBlockSize:
		return corrupt("has blocks of " + strconv.Itoa(h.BlockSize) + " bytes")
	case h.Size > MaxSize:
		return corrupt("states " + strconv.Itoa(h.Size) + " bytes")
	}
	if variable&flagVariable != 0 {
		h.Variable, h.BlockSize = h.BlockSize, 0
		if h.Special != NotSpecial || h.Stored {
			return corrupt("has blocks of any lengths, and none")
		}
		return nil
	}
	if h.Size > 0 {
		h.BlockSize = min(h.BlockSize, h.Size)
	}
	if h.TypeSize > 1 && h.BlockSize > h.TypeSize {
		// Where Size is no multiple of TypeSize, releases up to 3.3.5 may
		// write what they did not use, and fail on it themselves.
		h.BlockSize -= h.BlockSize % h.TypeSize
	}
	return nil
}

// packed reports whether the chunk has streams.
func (h Header) packed() bool {
	return (h.Size > 0 || h.Variable > 0) && !h.Stored && h.Special == NotSpecial
}

// check compares the sizes with each other.
func (h Header) check() error {
	switch {
	case h.Stored && h.Special == NotSpecial && h.PackedSize != h.Len()+h.Size:
		if h.Size == 0 && !h.Extended {
			return nil
		}
		return corrupt("is stored, but its sizes differ")
	case h.Special == Repeated:
		if w := h.PackedSize - ExtendedHeaderSize; w <= 0 || w > h.Size || h.Size%w != 0 {
			return corrupt("its size is no multiple of its element")
		}
	case (h.Special == NaNs || h.Special == Uninit) && h.Size%h.TypeSize != 0:
		return corrupt("its size is no multiple of its element")
	case h.Special == NaNs && h.TypeSize != 4 && h.TypeSize != 8:
		return corrupt("NaN has 4 or 8 bytes")
	case !h.packed():
	case h.BlockSize == 0 && h.Variable == 0:
		return corrupt("has blocks of no bytes")
	case int64(h.PackedSize) < int64(h.Len())+4*int64(h.Blocks()):
		return corrupt("too short for the starts of its blocks")
	}
	return nil
}

// Len is the size of the header itself.
func (h Header) Len() int {
	if h.Extended {
		return ExtendedHeaderSize
	}
	return HeaderSize
}

// Blocks is the number of blocks that the decoded bytes fall into. It is
// about the bytes: stored and special chunks have blocks too.
func (h Header) Blocks() int {
	switch {
	case h.Variable > 0:
		return h.Variable
	case h.Size == 0 || h.BlockSize == 0:
		return 0
	}
	return (h.Size-1)/h.BlockSize + 1
}

// blockLen is the decoded size of block i, of those of one size.
func (h Header) blockLen(i int) int { return min(h.BlockSize, h.Size-i*h.BlockSize) }

// streams is how many streams a block of n bytes consists of.
func (h Header) streams(n int) int {
	if h.Unsplit || h.Variable > 0 || n < h.BlockSize {
		return 1
	}
	if !h.Extended && (h.TypeSize > maxSplit || n/h.TypeSize < minStream) {
		return 1
	}
	return h.TypeSize
}

func corrupt(why string) error { return fault.New(fault.ErrCorrupt, "blosc", "", why) }

func unsupported(what string) error { return fault.New(fault.ErrUnsupported, "blosc", "", what) }
