package shuffle

import "encoding/binary"

var le = binary.LittleEndian

// Bytes writes the bytes of src to dst, those of equal significance in
// elements of size bytes together. What is left over after the last whole
// element is copied as it is. dst has at least the length of src; size is at
// least 1.
func Bytes(dst, src []byte, size int) {
	count := len(src) / size
	switch {
	case size == 1 || count == 0:
		copy(dst, src)
		return
	case size == 2:
		part2(dst[:2*count], src, count)
	default:
		lane := 0
		for ; size-lane >= 8; lane += 8 {
			gather8(dst[lane*count:], src, lane, size, count)
		}
		for ; size-lane >= 4; lane += 4 {
			gather4(dst[lane*count:], src, lane, size, count)
		}
		for ; lane < size; lane++ {
			to := dst[lane*count : (lane+1)*count]
			from := lane
			for i := range to {
				to[i] = src[from]
				from += size
			}
		}
	}
	copy(dst[count*size:], src[count*size:])
}

// part2 makes two lanes of bytes that take turns.
func part2(dst, src []byte, count int) {
	i := quickSplit2(dst, src, count)
	low := dst[:count]
	high := dst[count:][:len(low)]
	for ; i+8 <= len(low); i += 8 {
		from := src[2*i : 2*i+16]
		a, b := le.Uint64(from), le.Uint64(from[8:])
		le.PutUint64(low[i:], close2(a)|close2(b)<<32)
		le.PutUint64(high[i:], close2(a>>8)|close2(b>>8)<<32)
	}
	for ; i < len(low); i++ {
		low[i], high[i] = src[2*i], src[2*i+1]
	}
}

// close2 is the inverse of spread: the even bytes of x, together.
func close2(x uint64) uint64 {
	x &= each8
	x = (x | x>>8) & each16
	return (x | x>>16) & each32
}

// gather4 makes the four lanes from lane on.
func gather4(dst, src []byte, lane, size, count int) {
	i := quickSplit4(dst, src[lane:], size, count)
	for ; size == 4 && i+8 <= count; i += 8 {
		load4(dst[i:], count, (*[4 * 8]byte)(src[4*i:]))
	}
	for ; i+8 <= count; i += 8 {
		bytes4(dst[i:], count, src[i*size+lane:], size)
	}
	for ; i < count; i++ {
		for r := range 4 {
			dst[r*count+i] = src[i*size+lane+r]
		}
	}
}

// gather8 makes the eight lanes from lane on.
func gather8(dst, src []byte, lane, size, count int) {
	i := quickSplit8(dst, src[lane:], size, count)
	for ; i+8 <= count; i += 8 {
		bytes8(dst[i:], count, src[i*size+lane:], size)
	}
	for ; i < count; i++ {
		for r := range 8 {
			dst[r*count+i] = src[i*size+lane+r]
		}
	}
}

// UndoBytes is the inverse of Bytes.
func UndoBytes(dst, src []byte, size int) {
	count := len(src) / size
	switch {
	case size == 1 || count == 0:
		copy(dst, src)
		return
	case size == 2:
		merge2(dst, src[:2*count], count)
	default:
		lane := 0
		for ; size-lane >= 8; lane += 8 {
			scatter8(dst, src[lane*count:], lane, size, count)
		}
		for ; size-lane >= 4; lane += 4 {
			scatter4(dst, src[lane*count:], lane, size, count)
		}
		for ; lane < size; lane++ {
			to := lane
			for _, b := range src[lane*count : (lane+1)*count] {
				dst[to] = b
				to += size
			}
		}
	}
	copy(dst[count*size:], src[count*size:])
}

// merge2 writes the bytes of two lanes in turn.
func merge2(dst, src []byte, count int) {
	i := quickJoin2(dst, src, count)
	low := src[:count]
	high := src[count:][:len(low)]
	for ; i+8 <= len(low); i += 8 {
		a, b := le.Uint64(low[i:]), le.Uint64(high[i:])
		to := dst[2*i : 2*i+16]
		le.PutUint64(to, spread(a)|spread(b)<<8)
		le.PutUint64(to[8:], spread(a>>32)|spread(b>>32)<<8)
	}
	for ; i < len(low); i++ {
		dst[2*i], dst[2*i+1] = low[i], high[i]
	}
}

// spread puts the four low bytes of x into the even bytes of a word.
func spread(x uint64) uint64 {
	x &= each32
	x = (x | x<<16) & each16
	return (x | x<<8) & each8
}

// scatter4 puts four lanes into bytes lane..lane+3 of the elements.
func scatter4(dst, src []byte, lane, size, count int) {
	i := quickJoin4(dst[lane:], src, size, count)
	for ; size == 4 && i+8 <= count; i += 8 {
		store4((*[4 * 8]byte)(dst[4*i:]), src[i:], count)
	}
	for ; i+8 <= count; i += 8 {
		undo4(dst[i*size+lane:], size, src[i:], count)
	}
	for ; i < count; i++ {
		for r := range 4 {
			dst[i*size+lane+r] = src[r*count+i]
		}
	}
}

// scatter8 puts eight lanes into bytes lane..lane+7 of the elements.
func scatter8(dst, src []byte, lane, size, count int) {
	i := quickJoin8(dst[lane:], src, size, count)
	for ; i+8 <= count; i += 8 {
		bytes8(dst[i*size+lane:], size, src[i:], count)
	}
	for ; i < count; i++ {
		for r := range 8 {
			dst[i*size+lane+r] = src[r*count+i]
		}
	}
}
