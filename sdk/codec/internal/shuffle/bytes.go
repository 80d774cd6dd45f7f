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
	p, q, u, v := dst[:count], dst[count:2*count], dst[2*count:3*count], dst[3*count:4*count]
	i := quickSplit4(dst, src[lane:], size, count)
	for ; i+8 <= count; i += 8 {
		from := src[i*size+lane:]
		from = from[:7*size+4]
		word := func(k int) uint64 {
			return uint64(le.Uint32(from[k*size:])) | uint64(le.Uint32(from[(k+4)*size:]))<<32
		}
		a, b, c, d := bytes4(word(0), word(1), word(2), word(3))
		le.PutUint64(p[i:], a)
		le.PutUint64(q[i:], b)
		le.PutUint64(u[i:], c)
		le.PutUint64(v[i:], d)
	}
	for ; i < count; i++ {
		from := src[i*size+lane:][:4]
		p[i], q[i], u[i], v[i] = from[0], from[1], from[2], from[3]
	}
}

// gather8 makes the eight lanes from lane on.
func gather8(dst, src []byte, lane, size, count int) {
	p := parts(dst, count)
	i := quickSplit8(dst, src[lane:], size, count)
	for ; i+8 <= count; i += 8 {
		a, b, c, d, e, f, g, h := bytes8(loadWords(src[i*size+lane:], size))
		storeParts(p, i, a, b, c, d, e, f, g, h)
	}
	for ; i < count; i++ {
		for r := range 8 {
			p[r][i] = src[i*size+lane+r]
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
	p, q, u, v := src[:count], src[count:2*count], src[2*count:3*count], src[3*count:4*count]
	i := quickJoin4(dst[lane:], src, size, count)
	for ; i+8 <= count; i += 8 {
		a, b, c, d := bytes4(le.Uint64(p[i:]), le.Uint64(q[i:]), le.Uint64(u[i:]), le.Uint64(v[i:]))
		if size == 4 {
			to := dst[4*i : 4*i+32]
			le.PutUint64(to, a&each32|b<<32)
			le.PutUint64(to[8:], c&each32|d<<32)
			le.PutUint64(to[16:], a>>32|b&^each32)
			le.PutUint64(to[24:], c>>32|d&^each32)
			continue
		}
		for r, x := range [4]uint64{a, b, c, d} {
			le.PutUint32(dst[(i+r)*size+lane:], uint32(x))
			le.PutUint32(dst[(i+r+4)*size+lane:], uint32(x>>32))
		}
	}
	for ; i < count; i++ {
		to := dst[i*size+lane:]
		to[0], to[1], to[2], to[3] = p[i], q[i], u[i], v[i]
	}
}

// scatter8 puts eight lanes into bytes lane..lane+7 of the elements.
func scatter8(dst, src []byte, lane, size, count int) {
	p := parts(src, count)
	i := quickJoin8(dst[lane:], src, size, count)
	for ; i+8 <= count; i += 8 {
		a, b, c, d, e, f, g, h := bytes8(loadParts(p, i))
		storeWords(dst[i*size+lane:], size, a, b, c, d, e, f, g, h)
	}
	for ; i < count; i++ {
		for r := range 8 {
			dst[i*size+lane+r] = p[r][i]
		}
	}
}
