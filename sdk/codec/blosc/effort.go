package blosc

import "github.com/gridhold/gridhold/sdk/codec/internal/zstd"

const (
	triedBlocks = 2                // of a chunk, packed in two ways to find which one pays
	worthTrying = 12 * triedBlocks // blocks of a chunk for which that costs little
	hardlyMore  = 32               // one byte in so many is not worth several times the time
)

// effort is how hard zstd tries: less where numbers were shuffled.
func (p *Params) effort() int {
	if p.Codec != Zstd || p.typeSize() == 1 || !p.has(Shuffle) && !p.has(BitShuffle) {
		return p.Level
	}
	switch {
	case p.Level == 1:
		return zstd.Quick
	case p.Level == 5 && p.has(BitShuffle):
		return zstd.Bits
	case p.Level == 5:
		return zstd.Numbers
	}
	return p.Level
}

// settle takes the search of level 1 for level 5 where some blocks, and so the
// chunk, become hardly larger.
func (e *encoder) settle() {
	count := (e.size-1)/e.blockSize + 1
	if e.effort != zstd.Numbers && e.effort != zstd.Bits || e.p.Codec != Zstd || e.dict != nil || count < worthTrying {
		return
	}
	quick := *e
	quick.effort = zstd.Quick
	ways := [2]*encoder{&quick, e}
	var sizes [2 * triedBlocks]int
	_ = newLine(0, len(sizes)-1).work(e.workers(), e.s, func(i int, s *scratch) error {
		at := (i/2*2 + 1) * count / len(sizes) // in the middle of its share of the chunk
		s.packed, _ = ways[i%2].block(s.packed[:0], at, s)
		sizes[i] = len(s.packed)
		return nil
	})
	little, much := 0, 0
	for i := 0; i < len(sizes); i += 2 {
		little += sizes[i]
		much += sizes[i+1]
	}
	if little <= much+much/hardlyMore {
		e.effort = zstd.Quick
	}
}
