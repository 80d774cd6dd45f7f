package deflate

import (
	"encoding/binary"
	"sync"

	"github.com/gridhold/gridhold/sdk/codec/internal/lz"
)

var le = binary.LittleEndian

const (
	minMatch = 3
	maxMatch = 258
	window   = 32 << 10
	hashBits = 15
	farShort = 4096 // distance from which on the shortest match does not pay

	blockSymbols = 1<<14 - 1 // that are coded together
)

// effort is what a level spends, as zlib does; level 5 somewhat more, for the
// sizes of the newer zlib-ng.
type effort struct {
	good  int // bytes of a match after which fewer places are looked at for a later one
	lazy  int // and no later one is tried at all; where it is 0, none ever
	nice  int // and the search ends
	tries int // earlier places that are looked at
}

// greedy are the levels that take what they find first. Of longer matches
// than that they enter the first position only.
var greedy = [4]int{1: 4, 2: 5, 3: 6}

var efforts = [10]effort{
	1: {4, 0, 8, 4}, 2: {4, 0, 16, 8}, 3: {4, 0, 32, 32},
	4: {4, 4, 16, 16}, 5: {8, 32, 128, 128}, 6: {8, 16, 128, 128},
	7: {8, 32, 128, 256}, 8: {32, 128, 258, 1024}, 9: {32, 258, 258, 4096},
}

// token is a literal; or a match: its length less 3, above the distance.
type token uint32

const matchMark token = 1 << 31

func (t token) length() int   { return int(t&^matchMark>>16) + minMatch }
func (t token) distance() int { return int(t & 0xffff) }

// encoder is what one compression works with.
type encoder struct {
	src    []byte
	heads  [1 << hashBits]int32 // positions and 1, by hash
	before [window]int32        // by position, the one before with the same hash
	next   int                  // first position that was not entered

	tokens  []token
	started int // where in src those begin
	out     writer
	codes   codes
}

var idle = sync.Pool{New: func() any { return new(encoder) }}

// Append appends src as one stream to dst. level is in 1..9. It may be called
// by any number of goroutines at once.
func Append(dst, src []byte, level int) []byte {
	e := idle.Get().(*encoder)
	defer idle.Put(e)
	clear(e.heads[:])
	e.src, e.next, e.started, e.tokens = src, 0, 0, e.tokens[:0]
	e.out = writer{b: dst}
	if level < len(greedy) {
		e.first(&efforts[level], greedy[level])
	} else {
		e.better(&efforts[level])
	}
	e.block(len(src), true)
	dst = e.out.b
	e.src, e.out = nil, writer{}
	return dst
}

func (e *encoder) hash(at int) uint32 {
	b := e.src[at : at+minMatch]
	return (uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16) * 2654435761 >> (32 - hashBits)
}

// enter enters the positions before at, of which each has three bytes.
func (e *encoder) enter(at int) {
	for end := min(at, len(e.src)-minMatch+1); e.next < end; e.next++ {
		head := &e.heads[e.hash(e.next)]
		e.before[e.next%window] = *head
		*head = int32(e.next + 1)
	}
	e.next = max(e.next, at)
}

// longest finds the longest match at at of more than n bytes; 0: none.
func (e *encoder) longest(at, n, tries, nice int) (length, distance int) {
	e.enter(at)
	src := e.src
	most := min(maxMatch, len(src)-at)
	if most < minMatch || n >= most {
		return 0, 0
	}
	nice = min(nice, most)
	p := int(e.heads[e.hash(at)]) - 1
	for lowest := max(at-window+1, 0); p >= lowest && tries > 0; tries-- {
		if src[p+n] == src[at+n] && src[p] == src[at] && src[p+1] == src[at+1] {
			if k := lz.Same(src[at:at+most], src[p:]); k > n {
				n, length, distance = k, k, at-p
				if k >= nice {
					break
				}
			}
		}
		p = int(e.before[p%window]) - 1
	}
	return length, distance
}

// add adds a token; at is where in src the next one begins.
func (e *encoder) add(t token, at int) {
	e.tokens = append(e.tokens, t)
	if len(e.tokens) == blockSymbols {
		e.block(at, false)
	}
}

// first takes each match that it finds.
func (e *encoder) first(f *effort, short int) {
	for at := 0; at < len(e.src); {
		n, d := e.longest(at, minMatch-1, f.tries, f.nice)
		if n == 0 {
			e.add(token(e.src[at]), at+1)
			at++
			continue
		}
		if n > short {
			e.enter(at + 1)
			e.next = at + n
		}
		at += n
		e.add(matchMark|token(n-minMatch)<<16|token(d), at)
	}
}

// better takes a match unless a longer one begins at the next byte.
func (e *encoder) better(f *effort) {
	n, d := 0, 0 // the match one byte before
	waiting := false
	for at := 0; at < len(e.src); at++ {
		before, distance := n, d
		n, d = 0, 0
		if before < f.lazy {
			tries := f.tries
			if before >= f.good {
				tries >>= 2
			}
			n, d = e.longest(at, max(before, minMatch-1), tries, f.nice)
			if n == minMatch && d > farShort {
				n = 0
			}
		}
		switch {
		case before >= minMatch && n <= before:
			at += before - 1
			e.add(matchMark|token(before-minMatch)<<16|token(distance), at)
			at--
			n, waiting = 0, false
		case waiting:
			e.add(token(e.src[at-1]), at)
		default:
			waiting = true
		}
	}
	if waiting {
		e.add(token(e.src[len(e.src)-1]), len(e.src))
	}
}
