package block

import (
	"encoding/binary"
	"sync"
)

// LZ4Bound is the size of the largest block of n bytes.
func LZ4Bound(n int64) int64 { return n + n/255 + 16 }

const (
	lz4Far  = 1<<16 - 1
	lz4Tail = 12 // no match begins in the last 12 bytes
	lz4Last = 5  // nor reaches into the last 5

	lz4Near64K  = 1<<16 + lz4Tail - 1 // bytes of which each position where a match begins has 16 bits
	lz4NearBits = 13                  // of hashes in such inputs
	lz4FarBits  = 12                  // in longer ones
)

// lz4Tables hold positions by hash, for one call.
var (
	lz4Tables16 = sync.Pool{New: func() any { return new(lz4Table[uint16]) }}
	lz4Tables32 = sync.Pool{New: func() any { return new(lz4Table[uint32]) }}
)

// AppendLZ4 appends src as one LZ4 block to dst.
func AppendLZ4(dst, src []byte) []byte { return AppendLZ4Fast(dst, src, 0, 1) }

// AppendLZ4Fast appends src[start:] as one LZ4 block to dst; matches may begin
// in src[:start], a dictionary. It is greedy, with one table of positions by
// hash, and skips ahead where nothing matches: more so with a larger stride,
// from 1 on. All of that is as in the reference library, for the same sizes.
func AppendLZ4Fast(dst, src []byte, start, stride int) []byte {
	head := len(dst)
	dst = Room(dst, int(LZ4Bound(int64(len(src)-start))))
	out := dst[head:cap(dst)]
	if len(src) < lz4Near64K {
		t := lz4Tables16.Get().(*lz4Table[uint16])
		defer lz4Tables16.Put(t)
		return dst[:head+t.pack(out, src, start, stride)]
	}
	t := lz4Tables32.Get().(*lz4Table[uint32])
	defer lz4Tables32.Put(t)
	return dst[:head+t.pack(out, src, start, stride)]
}

// lz4Table is positions by hash.
type lz4Table[T uint16 | uint32] [1 << lz4NearBits]T

// slot is the place of a word: by its first four bytes, or in long inputs by
// five, among which four are found too soon. Which it is, is known when this
// is compiled.
func (t *lz4Table[T]) slot(word uint64) *T {
	if uint64(^T(0)) > 1<<16 {
		return &t[word<<24*889523592379>>(64-lz4FarBits)]
	}
	return &t[word*2654435761<<32>>(64-lz4NearBits)]
}

// enter forgets all and has the dictionary and the first position, as far as
// a match may begin behind them.
func (t *lz4Table[T]) enter(src []byte, start int) {
	clear(t[:])
	if start > len(src)-lz4Tail {
		return
	}
	for i := max(0, start-lz4Far); i <= start-8; i += 3 {
		*t.slot(binary.LittleEndian.Uint64(src[i:])) = T(i)
	}
	*t.slot(binary.LittleEndian.Uint64(src[start:])) = T(start)
}

// fast writes src[start:] to dst, which has room for it, and returns how much
// it wrote.
func (t *lz4Table[T]) fast(dst, src []byte, start, stride int) int {
	t.enter(src, start)
	last := len(src) - lz4Tail // where a match may begin
	end := len(src) - lz4Last  // to where it may reach
	from, out := start, 0
	step, missed := 1, stride<<6
	for at := start + 1; at <= last; {
		word := binary.LittleEndian.Uint64(src[at:])
		h := t.slot(word)
		seen := int(*h)
		*h = T(at)
		if uint32(word) != binary.LittleEndian.Uint32(src[seen:]) || at-seen > lz4Far {
			at += step
			step = missed >> 6
			missed++
			continue
		}
		for at > from && seen > 0 && src[at-1] == src[seen-1] {
			at--
			seen--
		}
		for {
			n := lz4MinMatch + Same(src[at+lz4MinMatch:end], src[seen+lz4MinMatch:])
			out = lz4Put(dst, out, src, from, at-from, at-seen, n)
			at += n
			from = at
			if at > last {
				break
			}
			// What repeats often repeats from near the end of a match, and
			// what comes next often was seen too.
			*t.slot(binary.LittleEndian.Uint64(src[at-2:])) = T(at - 2)
			word := binary.LittleEndian.Uint64(src[at:])
			h := t.slot(word)
			seen = int(*h)
			*h = T(at)
			if uint32(word) != binary.LittleEndian.Uint32(src[seen:]) || at-seen > lz4Far {
				break
			}
		}
		at++
		step, missed = 1, stride<<6
	}
	return lz4Rest(dst, out, src, from)
}

// lz4Rest writes what comes after the last match, and returns where it ends.
func lz4Rest(dst []byte, out int, src []byte, from int) int {
	return out + len(lz4Sequence(dst[out:out], src[from:], 0, 0))
}

// lz4Put writes a sequence to dst at out, where there is room for it, and
// returns where it ends.
func lz4Put(dst []byte, out int, src []byte, from, literals, distance, n int) int {
	n -= lz4MinMatch
	if literals < lz4Short && n < lz4Short && from <= len(src)-Wide && out <= len(dst)-Wide-3 {
		dst[out] = byte(literals<<4 | n)
		*(*[Wide]byte)(dst[out+1:]) = *(*[Wide]byte)(src[from:])
		out += 1 + literals
		binary.LittleEndian.PutUint16(dst[out:], uint16(distance))
		return out + 2
	}
	return out + len(lz4Sequence(dst[out:out], src[from:from+literals], distance, n+lz4MinMatch))
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
