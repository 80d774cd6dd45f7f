package blosc2

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

const (
	fixedLen   = 87 // of the header, before its metalayers
	maxVersion = 3
	maxFilters = 6
	maxChunks  = 1<<28 - 1
)

// Header is the fixed part of a frame's header: what the frame says of
// itself. Sizes are in bytes. Filters and codec are those that chunks were
// last written with; each chunk has its own.
type Header struct {
	HeaderLen int64 // with the metalayers
	FrameLen  int64 // of the whole frame; of the file chunks.b2frame if Sparse
	Version   int
	Sparse    bool // a directory with a file a chunk
	Varying   bool // chunks are of varying sizes
	VarBlocks bool // chunks have blocks of varying sizes

	Size       int64 // of all chunks, decoded
	PackedSize int64 // of the data area, dead bytes included; of all chunk files if Sparse
	TypeSize   int   // of an item, at least 1
	BlockSize  int   // 0: not recorded
	ChunkSize  int   // of each chunk but the last; 0: they vary; -1: there was none yet

	Codec       int // id of the compressor
	CodecMeta   byte
	Level       int
	Split       int // 1 always, 2 never, 3 automatic, 4 forward compatible
	Filters     [maxFilters]byte
	FilterMetas [maxFilters]byte
	UseDict     bool
	HasVLMeta   bool
}

// fixedTypes are the bytes of MessagePack around the fields of a header.
var fixedTypes = []struct {
	at   int
	want string
}{
	{0, "\x9e\xa8b2frame\x00\xd2"}, {15, "\xcf"}, {24, "\xa4"}, {29, "\xd3"}, {38, "\xd3"}, {47, "\xd2"},
	{52, "\xd2"}, {57, "\xd2"}, {62, "\xd1"}, {65, "\xd1"}, {69, "\xd8"},
}

// ParseHeader reads the header that b, the first 87 bytes of a frame or more,
// begins with. ErrCorrupt if it contradicts itself, ErrUnsupported for a
// version that is too new.
//
// Blosc2 contiguous frame format, section "Header":
// https://github.com/Blosc/c-blosc2/blob/main/README_CFRAME_FORMAT.rst
func ParseHeader(b []byte) (Header, error) {
	if len(b) < fixedLen {
		return Header{}, corrupt(int64(len(b)), "too short for a header")
	}
	for _, f := range fixedTypes {
		if !bytes.HasPrefix(b[f.at:], []byte(f.want)) {
			return Header{}, corrupt(int64(f.at), "is no header of a frame")
		}
	}
	i32 := func(at int) int { return int(int32(binary.BigEndian.Uint32(b[at:]))) }
	i64 := func(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }
	flags := b[25]
	h := Header{
		HeaderLen: int64(i32(11)), FrameLen: i64(16), Version: int(flags & 15), Sparse: b[26] != 0,
		Varying: flags&0x40 != 0, VarBlocks: flags&0x80 != 0,
		Size: i64(30), PackedSize: i64(39), TypeSize: i32(48), BlockSize: i32(53), ChunkSize: i32(58),
		Codec: int(b[27] & 15), CodecMeta: b[78], Level: int(b[27] >> 4), Split: int(b[28]&3) + 1,
		Filters: [maxFilters]byte(b[71:]), FilterMetas: [maxFilters]byte(b[79:]), UseDict: b[85]&1 != 0, HasVLMeta: b[68] == 0xc3,
	}
	if h.Codec == 6 { // registered by a plugin
		h.Codec = int(b[77])
	}
	if h.Version > maxVersion {
		return Header{}, fault.At(fault.ErrUnsupported, "frame", "", 25, "version "+strconv.Itoa(h.Version)+" of the format")
	}
	return h, h.check(b)
}

func (h *Header) check(b []byte) error {
	switch {
	case h.HeaderLen < fixedLen || h.HeaderLen > h.FrameLen:
		return corrupt(11, "a header of "+strconv.FormatInt(h.HeaderLen, 10)+" bytes in a frame of "+strconv.FormatInt(h.FrameLen, 10))
	case b[25]&0x30 != 0x10:
		return corrupt(25, "offsets of an unknown width")
	case b[26] > 1:
		return corrupt(26, "neither contiguous nor sparse")
	case h.Size < 0 || h.PackedSize < 0:
		return corrupt(30, "a size is negative")
	case !h.Sparse && h.PackedSize > h.FrameLen-h.HeaderLen:
		return corrupt(39, "more data than the frame has bytes")
	case h.TypeSize <= 0:
		return corrupt(48, "items of "+strconv.Itoa(h.TypeSize)+" bytes")
	case h.BlockSize < 0:
		return corrupt(53, "blocks of a negative size")
	case h.ChunkSize < -1 || h.ChunkSize < 0 && h.Size > 0:
		return corrupt(58, "chunks of a negative size")
	case b[68] != 0xc2 && b[68] != 0xc3:
		return corrupt(68, "is no header of a frame")
	case b[70] > maxFilters:
		return corrupt(70, strconv.Itoa(int(b[70]))+" filters")
	case h.ChunkSize > 0 && (h.Size-1)/int64(h.ChunkSize) >= maxChunks:
		return corrupt(30, "too many chunks")
	}
	return nil
}

// corrupt is the error of a frame that contradicts the format at an offset.
func corrupt(off int64, why string) error { return fault.At(fault.ErrCorrupt, "frame", "", off, why) }
