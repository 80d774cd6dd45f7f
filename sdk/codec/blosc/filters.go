package blosc

import "strconv"

// MaxFilters is the number of slots of a chunk's pipeline.
const MaxFilters = 6

// Filter is one step of the pipeline: what it does, and its parameter.
type Filter struct {
	ID   FilterID
	Meta byte
}

// FilterID is the number that Blosc gives a filter. Those from 32 on came as
// plugins; ByteDelta and IntTrunc are always there.
type FilterID uint8

// The filters.
const (
	NoFilter     FilterID = 0
	Shuffle      FilterID = 1  // bytes of equal significance together; Meta: of how many to an element, 0: the chunk's TypeSize
	BitShuffle   FilterID = 2  // bits of equal significance together
	Delta        FilterID = 3  // exclusive or with the first block of the chunk
	TruncPrec    FilterID = 4  // floats lose bits of the mantissa: keeps Meta, or drops -Meta (int8)
	NDCell       FilterID = 32 // not here
	NDMean       FilterID = 33 // not here
	ByteDeltaOld FilterID = 34 // ByteDelta of early releases, with a flaw; read only
	ByteDelta    FilterID = 35 // differences between the bytes of a shuffled lane; Meta: of how many lanes, 0: the container's TypeSize
	IntTrunc     FilterID = 36 // integers lose low bits: keeps Meta, or drops -Meta (int8)
)

// String returns the name that Blosc gives the filter.
func (f FilterID) String() string {
	switch f {
	case NoFilter:
		return "nofilter"
	case Shuffle:
		return "shuffle"
	case BitShuffle:
		return "bitshuffle"
	case Delta:
		return "delta"
	case TruncPrec:
		return "trunc_prec"
	case NDCell:
		return "ndcell"
	case NDMean:
		return "ndmean"
	case ByteDeltaOld:
		return "bytedelta_buggy"
	case ByteDelta:
		return "bytedelta"
	case IntTrunc:
		return "int_trunc"
	}
	return "filter " + strconv.Itoa(int(f))
}

// here reports whether the filter can be undone without a plugin.
func (f FilterID) here() bool {
	return f <= TruncPrec || f == ByteDeltaOld || f == ByteDelta || f == IntTrunc
}
