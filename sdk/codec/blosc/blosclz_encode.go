package blosc

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync"

	"github.com/gridhold/gridhold/sdk/codec/internal/block"
)

const (
	bloscLZTable = 1 << 14
	bloscLZFar   = bloscLZNear + 1<<16 - 1 // largest distance
	bloscLZTail  = 12                      // no match begins in the last bytes
	bloscLZLeast = 16                      // bytes that are worth it
	bloscLZWorth = 6                       // shortest match that is written: shorter ones cost the reader more than they save
	bloscLZOld   = 5                       // the same in Blosc 1
	bloscLZTiny  = 16                      // ratio above which it pays to try again
	bloscLZWide  = 8                       // shortest one from afar
	bloscLZRun   = 32                      // most literals to an instruction
)

// bloscLZSeen is where words were seen, by hash. Positions count on from one
// input to the next, so that it need not be cleared in between, which for a
// small one costs more than all else: those of others are below base.
type bloscLZSeen struct {
	at   [bloscLZTable]int32
	next int // base of the next input
}

// begin forgets what was there, for n bytes of input.
func (t *bloscLZSeen) begin(n int) (base int32) {
	if t.next > math.MaxInt32-n {
		*t = bloscLZSeen{}
	}
	base = int32(t.next)
	t.next += n
	return base
}

// since is a position counted from base, 0 for one below it. There is no
// branch, which nobody could foretell.
func since(at, base int32) int {
	n := at - base
	return int(n &^ (n >> 31))
}

// bloscLZTables are for one call each.
var bloscLZTables = sync.Pool{New: func() any { return new(bloscLZSeen) }}

// bloscLZRatios are, by level, what the part of the input that is tried first
// has to be packed to, for all of it to be.
var bloscLZRatios = [10]float64{0, 2, 1.5, 1.2, 1.2, 1.2, 1.2, 1.15, 1.1, 1}

// bloscLZPart is how many of n bytes are tried first, and table how many
// positions are kept.
func bloscLZPart(n, level int) (part, table int) {
	switch {
	case level < 2:
		return n / 8, bloscLZTable / 4
	case level < 3:
		return n / 4, bloscLZTable / 2
	case level < 4:
		return n / 4, bloscLZTable
	case level < 7:
		return n / 2, bloscLZTable
	}
	return n, bloscLZTable
}

// appendBloscLZ appends src as BloscLZ; ok is false where that does not pay,
// and dst is as it was. Like the C library it first glances at a part of src
// from the end on; that of Blosc 1, which old asks for, is easier to please.
func appendBloscLZ(dst, src []byte, level int, old bool) (_ []byte, ok bool) {
	head := len(dst)
	if len(src) < bloscLZLeast {
		return dst, false
	}
	whole := bloscLZTables.Get().(*bloscLZSeen)
	defer bloscLZTables.Put(whole)
	part, size := bloscLZPart(len(src), level)
	s := bloscLZScan{table: whole, size: size, least: bloscLZWorth}
	if old {
		part, s.least = len(src)/4, bloscLZOld
	}
	glance := src[len(src)-part:]
	if glance = glance[:min(len(glance), size)]; len(glance) > bloscLZTail {
		if float64(len(glance)) < bloscLZRatios[level]*float64(s.packed(glance)) {
			return dst, false
		}
	}
	dst = s.append(dst, src)
	if n := len(dst) - head; n < len(src)/bloscLZTiny {
		s.early = true
		dst = s.append(dst, src)
		if again := dst[head+n:]; len(again) < n {
			n = copy(dst[head:], again)
		}
		dst = dst[:head+n]
	}
	return dst, len(dst)-head < len(src)
}

// bloscLZScan is a greedy search with one table of positions by hash.
type bloscLZScan struct {
	table *bloscLZSeen
	size  int  // of the table, of which that much is used
	least int  // shortest match
	early bool // end matches before they must, as the C library does: worse, but for what repeats over and over
}

// bloscLZHash is the place of four bytes in a table of 1<<(32-shift).
func bloscLZHash(word uint32, shift uint) int {
	return int(word*2654435761>>shift) & (bloscLZTable - 1)
}

// match is for how many bytes position at of src is what was seen before,
// where the first four are; 0 if that is not worth it.
func (s *bloscLZScan) match(src []byte, at, seen int) int {
	if at == seen || at-seen > bloscLZFar {
		return 0
	}
	// Readers of the C library want a literal last.
	n := 4 + block.Same(src[at+4:len(src)-1], src[seen+4:])
	if n < s.least || at-seen > bloscLZNear && n < bloscLZWide {
		return 0
	}
	return n
}

// packed is about how many bytes append would append for src: it does not ask
// whether the end of a match begins a better one.
func (s *bloscLZScan) packed(src []byte) int {
	t, base, shift := &s.table.at, s.table.begin(len(src)), uint(32-bits.Len(uint(s.size-1)))
	n, from := 0, 0
	at := min(4, len(src))
	for limit := len(src) - bloscLZTail; at < limit; {
		word := binary.LittleEndian.Uint32(src[at:])
		h := bloscLZHash(word, shift)
		seen := since(t[h], base)
		t[h] = base + int32(at)
		if binary.LittleEndian.Uint32(src[seen:]) != word {
			at++
			continue
		}
		same := s.match(src, at, seen)
		if same == 0 {
			at++
			continue
		}
		n += literalsSize(at-from) + matchSize(at-seen, same)
		at += same
		from = at
		if same > bloscLZWide && at < limit {
			t[bloscLZHash(binary.LittleEndian.Uint32(src[at-2:]), shift)] = base + int32(at-2)
		}
	}
	return n + literalsSize(len(src)-from)
}

// literalsSize is how many bytes appendLiterals appends for n.
func literalsSize(n int) int { return n + (n+bloscLZRun-1)/bloscLZRun }

// matchSize is how many bytes appendMatch appends.
func matchSize(distance, n int) int {
	size := 2
	if n >= bloscLZMin+6 {
		size += 1 + (n-bloscLZMin-6)/255
	}
	if distance > bloscLZNear {
		size += 2
	}
	return size
}

// append appends src as BloscLZ.
func (s *bloscLZScan) append(dst, src []byte) []byte {
	t, base, shift := &s.table.at, s.table.begin(len(src)), uint(32-bits.Len(uint(s.size-1)))
	head := len(dst)
	from := 0              // of the literals before at
	at := min(4, len(src)) // a stream begins with literals
	for limit := len(src) - bloscLZTail; at < limit; {
		word := binary.LittleEndian.Uint32(src[at:])
		h := bloscLZHash(word, shift)
		seen := since(t[h], base)
		t[h] = base + int32(at)
		if binary.LittleEndian.Uint32(src[seen:]) != word {
			at++
			continue
		}
		n := s.match(src, at, seen)
		if n == 0 {
			at++
			continue
		}
		dst = appendLiterals(dst, src[from:at])
		end := at + n
		if n > bloscLZWide && end < limit {
			// What comes next may have been seen together with the last
			// bytes of this match, as in runs that take turns.
			word := binary.LittleEndian.Uint32(src[end-1:])
			early := since(t[bloscLZHash(word, shift)], base)
			if s.early || binary.LittleEndian.Uint32(src[early:]) == word && s.match(src, end-1, early) > 0 {
				end--
			}
			if s.early && at-seen == 1 {
				end--
			}
			t[bloscLZHash(binary.LittleEndian.Uint32(src[end-2:]), shift)] = base + int32(end-2)
		}
		dst = appendMatch(dst, at-seen, end-at)
		at, from = end, end
	}
	dst = appendLiterals(dst, src[from:])
	dst[head] |= 1 << 5 // the mark of the format
	return dst
}

func appendLiterals(dst, b []byte) []byte {
	for len(b) > 0 {
		n := min(len(b), bloscLZRun)
		dst = append(dst, byte(n-1))
		dst = append(dst, b[:n]...)
		b = b[n:]
	}
	return dst
}

// appendMatch appends a match of n bytes.
func appendMatch(dst []byte, distance, n int) []byte {
	far := distance > bloscLZNear
	code := distance - 1
	if far {
		code = 31<<8 | 255
	}
	n -= bloscLZMin - 1
	if n < 7 {
		dst = append(dst, byte(n<<5|code>>8))
	} else {
		dst = append(dst, byte(7<<5|code>>8))
		for n -= 7; n >= 255; n -= 255 {
			dst = append(dst, 255)
		}
		dst = append(dst, byte(n))
	}
	dst = append(dst, byte(code))
	if far {
		distance -= bloscLZNear + 1
		dst = append(dst, byte(distance>>8), byte(distance))
	}
	return dst
}
