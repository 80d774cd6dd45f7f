package blosc

import (
	"slices"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Split is when blocks are split into a stream for each byte of an element.
// The numbers are those of the C library.
type Split uint8

// The ways to split.
const (
	SplitDefault Split = 0 // SplitAuto
	SplitAlways  Split = 1
	SplitNever   Split = 2
	SplitAuto    Split = 3 // where that usually pays
	SplitForward Split = 4 // as SplitAuto
)

// Params are those of encoding. Chunks come out as the C library would make
// them, but for the bytes of the streams.
type Params struct {
	Codec     Codec // one of the constants but Snappy
	Level     int   // 0 (stored) to 9 (smallest)
	TypeSize  int   // of an element, in bytes; 0: 1. More than 255 count as 1, except for ByteDelta
	BlockSize int   // in bytes; 0: chosen by Codec, Level, TypeSize and the size
	// Filters are the first slots, applied in this order; at most
	// MaxFilters. Those that lose bits come before all others.
	Filters []Filter
	Split   Split
	// Dictionary asks for one for all streams, of LZ4, LZ4HC and Zstd only.
	// Chunks for which it does not pay go without.
	Dictionary bool
	// Workers is how many blocks are packed at once, of what has 128 KiB or
	// more; 0: 1. The chunk is the same with any number.
	Workers int
}

// check returns ErrInvalid for what can not be written, and fills in what
// was left out.
func (p *Params) check(size int) error {
	switch {
	case p.Codec > Zstd || p.Codec == Snappy:
		return invalid("codec", p.Codec.String()+" is not written")
	case p.Level < 0 || p.Level > 9:
		return invalid("level", strconv.Itoa(p.Level)+" is not in 0..9")
	case p.TypeSize < 0:
		return invalid("type size", strconv.Itoa(p.TypeSize))
	case p.BlockSize < 0 || p.BlockSize > MaxBlockSize:
		return invalid("block size", strconv.Itoa(p.BlockSize))
	case p.Split > SplitForward:
		return invalid("split", strconv.Itoa(int(p.Split)))
	case len(p.Filters) > MaxFilters:
		return invalid("filters", strconv.Itoa(len(p.Filters))+" are more than the slots")
	case p.Dictionary && p.Codec != LZ4 && p.Codec != LZ4HC && p.Codec != Zstd:
		return invalid("dictionary", p.Codec.String()+" has none")
	case size > MaxSize:
		return fault.New(fault.ErrLimit, "blosc", "", strconv.Itoa(size)+" bytes are more than a chunk holds")
	}
	p.TypeSize = max(p.TypeSize, 1)
	lossless := false
	for i, f := range p.Filters {
		switch f.ID {
		case NoFilter:
			continue
		case TruncPrec, IntTrunc:
			if lossless {
				return invalid("filters", f.ID.String()+" comes after one that loses no bits")
			}
			n, err := dropped(f, p.TypeSize)
			if err != nil {
				return err
			}
			if f.Meta > 127 { // said as the bits that are kept: python-blosc2 takes no number below zero
				p.Filters = slices.Clone(p.Filters)
				p.Filters[i].Meta = byte(mantissa(f.ID, p.TypeSize) - n)
			}
			continue
		case Shuffle, BitShuffle, Delta, ByteDelta:
		default:
			return invalid("filters", f.ID.String()+" is not written")
		}
		lossless = true
	}
	return nil
}

// slots are the filters as the header has them.
func (p *Params) slots() (s [MaxFilters]Filter) {
	copy(s[:], p.Filters)
	return s
}

// has reports whether id is among the filters.
func (p *Params) has(id FilterID) bool {
	for _, f := range p.Filters {
		if f.ID == id {
			return true
		}
	}
	return false
}

// typeSize is what the header states.
func (p *Params) typeSize() int {
	if p.TypeSize > 255 {
		return 1
	}
	return p.TypeSize
}

const (
	minSize   = 32       // of what is packed, in bytes; and of elements to a block that is split
	cacheSize = 32 << 10 // that blocks are meant to fit in
)

// split reports whether blocks of n bytes are split.
func (p *Params) split(n int) bool {
	switch p.Split {
	case SplitAlways:
		return true
	case SplitNever:
		return false
	}
	fast := p.Codec == BloscLZ || p.Codec == LZ4 || p.Codec == Zstd && p.Level <= 5
	return fast && p.has(Shuffle) && p.typeSize() <= maxSplit && n/p.typeSize() >= minSize
}

// slow reports whether the codec is one for large blocks.
func (p *Params) slow() bool { return p.Codec == LZ4HC || p.Codec == Zlib || p.Codec == Zstd }

// sizeOfBlocks is the size of the blocks of size bytes.
func (p *Params) sizeOfBlocks(size int) int {
	ts := p.typeSize()
	if size < ts || size == 0 {
		return 1
	}
	n := size
	switch {
	case p.BlockSize > 0:
		n = p.BlockSize
	case p.Level > 0 && p.split(size):
		n = [...]int{1: 32, 2: 32, 3: 32, 4: 64, 5: 64, 6: 64, 7: 128, 8: 256, 9: 512}[p.Level] << 10
		n = max(min(n*ts, 4<<20), 32<<10)
	case size >= cacheSize:
		n = p.cached()
	}
	return rounded(min(n, size), ts)
}

// cached is a block size by the level.
func (p *Params) cached() int {
	n := cacheSize
	if p.slow() {
		n *= 2
	}
	n = n * [...]int{1, 2, 4, 8, 16, 16, 32, 32, 32, 32}[p.Level] / 4
	if p.Level == 9 && p.slow() {
		n *= 2
	}
	return n
}

// rounded is n as a multiple of size, if it is larger.
func rounded(n, size int) int {
	if n > size {
		return n - n%size
	}
	return n
}

// BlockSizeOf is the size of the blocks in which a chunk of size bytes will
// be written. Params must be valid.
func (p Params) BlockSizeOf(size int) int {
	p.TypeSize = max(p.TypeSize, 1)
	return p.sizeOfBlocks(size)
}

func invalid(what, why string) error { return fault.New(fault.ErrInvalid, "blosc", what, why) }
