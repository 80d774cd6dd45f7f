package shuffle

import "encoding/binary"

var le = binary.LittleEndian

// Bytes writes the bytes of src to dst, those of equal significance in
// elements of size bytes together. What is left over after the last whole
// element is copied as it is. dst has at least the length of src; size is at
// least 1.
func Bytes(dst, src []byte, size int) {
	count := len(src) / size
	lane := 0
	for ; size-lane >= 8; lane += 8 {
		gather8(dst[lane*count:], src, lane, size, count)
	}
	for ; lane < size; lane++ {
		for i, from := 0, lane; i < count; i, from = i+1, from+size {
			dst[lane*count+i] = src[from]
		}
	}
	copy(dst[count*size:], src[count*size:])
}

// gather8 makes the eight lanes from lane on.
func gather8(dst, src []byte, lane, size, count int) {
	i := 0
	for ; i+8 <= count; i += 8 {
		var w [8]uint64
		for r := range w {
			w[r] = le.Uint64(src[(i+r)*size+lane:])
		}
		bytes8(&w)
		for r := range w {
			le.PutUint64(dst[r*count+i:], w[r])
		}
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
	if size == 2 {
		merge2(dst, src[:count], src[count:2*count])
	} else {
		lane := 0
		for ; size-lane >= 8; lane += 8 {
			scatter8(dst, src[lane*count:], lane, size, count)
		}
		if size-lane >= 4 {
			scatter4(dst, src[lane*count:], lane, size, count)
			lane += 4
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
func merge2(dst, low, high []byte) {
	i := 0
	for ; i+8 <= len(low); i += 8 {
		a, b := le.Uint64(low[i:]), le.Uint64(high[i:])
		le.PutUint64(dst[2*i:], spread(a)|spread(b)<<8)
		le.PutUint64(dst[2*i+8:], spread(a>>32)|spread(b>>32)<<8)
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
	i := 0
	for ; i+8 <= count; i += 8 {
		w := [4]uint64{le.Uint64(src[i:]), le.Uint64(src[count+i:]), le.Uint64(src[2*count+i:]), le.Uint64(src[3*count+i:])}
		bytes4(&w)
		if size == 4 {
			to := dst[4*i : 4*i+32]
			le.PutUint64(to, w[0]&each32|w[1]<<32)
			le.PutUint64(to[8:], w[2]&each32|w[3]<<32)
			le.PutUint64(to[16:], w[0]>>32|w[1]&^each32)
			le.PutUint64(to[24:], w[2]>>32|w[3]&^each32)
			continue
		}
		for r := range w {
			le.PutUint32(dst[(i+r)*size+lane:], uint32(w[r]))
			le.PutUint32(dst[(i+r+4)*size+lane:], uint32(w[r]>>32))
		}
	}
	for ; i < count; i++ {
		for r := range 4 {
			dst[i*size+lane+r] = src[r*count+i]
		}
	}
}

// scatter8 puts eight lanes into bytes lane..lane+7 of the elements.
func scatter8(dst, src []byte, lane, size, count int) {
	i := 0
	for ; i+8 <= count; i += 8 {
		var w [8]uint64
		for r := range w {
			w[r] = le.Uint64(src[r*count+i:])
		}
		bytes8(&w)
		for r := range w {
			le.PutUint64(dst[(i+r)*size+lane:], w[r])
		}
	}
	for ; i < count; i++ {
		for r := range 8 {
			dst[i*size+lane+r] = src[r*count+i]
		}
	}
}
