package blosc

// Plugins are codecs and filters that this package lacks, by number. Those
// that it has are never looked up. Functions must be safe for concurrent use
// and keep none of the slices.
type Plugins struct {
	// Codecs decode one stream, all of dst.
	Codecs map[Codec]func(dst, src []byte, h Header) error
	// Filters undo one on a block: dst and src have its size and do not overlap.
	Filters map[FilterID]func(dst, src []byte, f Filter, h Header) error
}
