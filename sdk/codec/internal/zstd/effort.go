package zstd

// effort is what a level spends.
type effort struct {
	quick quick // what a fast search spends, which goes first
	least int   // how much of a block, by a fast search, has to be matches for a thorough one: one in so many bits; 0: none
	short bool  // or it is smooth: then a thorough one finds what is too short for a fast one
	rich  int   // the effort, by level, that is spent instead where half 16ths of a block are matches
	half  int
	heads int // bits of hashes
	tries int // earlier places that are looked at; 0: there is no thorough search
	more  int // for each that was better than those before
	later int // positions after one with a match that are tried too
	nice  int // bytes of a match after which no better one is looked for
	again int // times that a block is divided anew, with what things took; 0: matches are taken as they are found
	skip  int // where nothing matched for 1<<skip bytes, one more is skipped each time
}

// quick is what a fast search spends.
type quick struct {
	bits  int // of hashes
	short int // bytes of a match that is looked for, at least
	hard  int // the same while what matched saved little
	leap  int // bytes that are left out, at most
	noise int // where all looks like noise it leaps so many times as far, and looks at as many more positions in between
	gain  int // 16ths of a bit that a match saves, at least
}

var (
	careful = quick{bits: fastBits, short: 5, hard: 5, leap: 256, noise: 1}
	sloppy  = quick{bits: fastBits, short: 5, hard: 5, leap: 1 << 10, noise: 2, gain: 4 << 4}
	hasty   = quick{bits: fastBits - 1, short: 6, hard: 7, leap: 1 << 10, noise: 2, gain: 4 << 4}
)

// deep is the effort of level 6 for what is rich.
const deep = Quick + 1

var efforts = [...]effort{
	Numbers: {quick: careful, least: 64, short: true, rich: 5, half: 9, heads: 15, tries: 2, more: 2, nice: 16, skip: 5},

	1: {quick: careful},
	2: {quick: careful, least: 64, rich: 3, half: 8, heads: 14, tries: 2, more: 2, nice: 16, skip: 6},
	3: {quick: careful, least: 64, short: true, rich: 4, half: 8, heads: 15, tries: 6, more: 4, nice: 32, skip: 6},
	4: {quick: careful, least: 64, short: true, rich: 5, half: 8, heads: 15, tries: 4, more: 4, later: 1, nice: 48, skip: 6},
	5: {quick: careful, least: 64, short: true, rich: 6, half: 8, heads: 16, tries: 4, more: 4, later: 1, nice: 64, skip: 6},
	6: {quick: careful, least: 64, short: true, rich: deep, half: 8, heads: 16, tries: 12, more: 8, later: 2, nice: 128, skip: 7},
	7: {quick: careful, heads: 16, tries: 64, nice: 128, again: 1},
	8: {quick: careful, heads: 16, tries: 96, nice: mostNice, again: 1},
	9: {quick: careful, heads: 16, tries: 256, nice: mostNice, again: 2},

	// Where a fast search of bits saves much, a thorough one saves little more.
	Bits:  {quick: sloppy, least: 6, rich: Quick, half: 6, heads: 15, tries: 2, more: 2, nice: 16, skip: 5},
	Quick: {quick: hasty},

	deep: {quick: careful, heads: 16, tries: 96, later: 2, nice: 256, skip: 9},
}
