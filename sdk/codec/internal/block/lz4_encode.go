package block

import (
	"encoding/binary"
	"math/bits"
	"sync"
)

// LZ4Bound is the size of the largest block of n bytes.
func LZ4Bound(n int64) int64 { return n + n/255 + 16 }

const (
	lz4HashBits = 13
	lz4Far      = 1<<16 - 1
	lz4Tail     = 12 // no match begins in the last 12 bytes
	lz4Last     = 5  // nor reaches into the last 5
)

// lz4Tables hold positions by hash, for one call.
var lz4Tables = sync.Pool{New: func() any { return new([1 << lz4HashBits]int32) }}

// AppendLZ4 appends src as one LZ4 block to dst.
func AppendLZ4(dst, src []byte) []byte { return AppendLZ4Fast(dst, src, 0, 1) }

// AppendLZ4Fast appends src[start:] as one LZ4 block to dst; matches may begin
// in src[:start], a dictionary. It is greedy, with one table of positions by
// hash, and skips ahead where nothing matches: more so with a larger stride,
// from 1 on. All of that is as in the reference library, for the same sizes.
func AppendLZ4Fast(dst, src []byte, start, stride int) []byte {
	whole := lz4Tables.Get().(*[1 << lz4HashBits]int32)
	defer lz4Tables.Put(whole)
	t := lz4Table{at: whole[:1<<(lz4HashBits-1)], long: len(src) > 1<<16+10}
	if !t.long {
		t.at = whole[:1<<min(bits.Len(uint(len(src))), lz4HashBits)]
	}
	t.shift = uint(64 - bits.Len(uint(len(t.at)-1)))
	clear(t.at)
	limit := len(src) - lz4Tail
	for i := max(0, start-lz4Far); i+8 <= start; i += 3 {
		*t.slot(src, i) = int32(i)
	}
	from, at := start, start+1
	if start < limit {
		*t.slot(src, start) = int32(start)
	}
	step, missed, fresh := 1, stride<<6, false
	for at <= limit {
		slot := t.slot(src, at)
		seen := int(*slot)
		*slot = int32(at)
		if at-seen > lz4Far || binary.LittleEndian.Uint32(src[seen:]) != binary.LittleEndian.Uint32(src[at:]) {
			at += step
			if !fresh {
				step = missed >> 6
				missed++
			}
			fresh = false
			continue
		}
		end := at + lz4MinMatch + Same(src[at+lz4MinMatch:len(src)-lz4Last], src[seen+lz4MinMatch:])
		for at > from && seen > 0 && src[at-1] == src[seen-1] {
			at--
			seen--
		}
		dst = lz4Sequence(dst, src[from:at], at-seen, end-at)
		at, from = end, end
		step, missed, fresh = 1, stride<<6, true
		if at <= limit { // what repeats often repeats from near the end of a match
			*t.slot(src, at-2) = int32(at - 2)
		}
	}
	return lz4Sequence(dst, src[from:], 0, 0)
}

// lz4Table is positions by hash: of four bytes, or in long inputs of five,
// among which four are found too soon.
type lz4Table struct {
	at    []int32
	shift uint // of 64 bits
	long  bool
}

func (t *lz4Table) slot(src []byte, i int) *int32 {
	word := binary.LittleEndian.Uint64(src[i:])
	if t.long {
		return &t.at[word<<24*889523592379>>t.shift]
	}
	return &t.at[uint64(uint32(word)*2654435761)<<32>>t.shift]
}

// Same is the number of equal bytes at the start of a and b.
func Same(a, b []byte) int {
	n := 0
	for len(a)-n >= 8 && len(b)-n >= 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		n += 8
	}
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// lz4Sequence appends literals and a match; distance 0 says that there is none.
func lz4Sequence(dst, literals []byte, distance, n int) []byte {
	token := min(len(literals), 15) << 4
	if distance > 0 {
		token |= min(n-lz4MinMatch, 15)
	}
	dst = append(dst, byte(token))
	dst = append(lz4AppendLength(dst, len(literals)), literals...)
	if distance > 0 {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(distance))
		dst = lz4AppendLength(dst, n-lz4MinMatch)
	}
	return dst
}

// lz4AppendLength appends what of a length the token does not hold.
func lz4AppendLength(dst []byte, n int) []byte {
	if n < 15 {
		return dst
	}
	for n -= 15; n >= 255; n -= 255 {
		dst = append(dst, 255)
	}
	return append(dst, byte(n))
}
