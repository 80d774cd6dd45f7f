// Package block decompresses whole blocks in memory. Zarr's codecs and the
// streams of Blosc chunks hold the same compressions; this is where both find
// them.
//
// Decoders that append take the most bytes that may come out, limit, and
// allocate no more than that. Decoders that fill take a buffer of the size
// that is due and never write past it. Both trust no size in their input.
// All may be called by any number of goroutines at once.
package block

import (
	"io"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Corrupt is the error of damaged input.
//
//go:noinline // it has many callers
func Corrupt(name, why string) error { return fault.New(fault.ErrCorrupt, name, "", why) }

// OverLimit is the error of input that decodes to more than is due.
//
//go:noinline // it has many callers
func OverLimit(name string, limit int) error {
	return fault.New(fault.ErrLimit, name, "", "decodes to more than the "+strconv.Itoa(limit)+" bytes that are due")
}

// Room returns dst with space for n more bytes.
func Room(dst []byte, n int) []byte {
	if cap(dst)-len(dst) >= n {
		return dst
	}
	grown := make([]byte, len(dst), len(dst)+n)
	copy(grown, dst)
	return grown
}

// Append appends all that r gives to dst: ErrLimit if that is more than limit
// bytes, ErrCorrupt if r fails. The end is always read, so that r verifies
// the checksum that lies there.
func Append(name string, dst []byte, r io.Reader, limit int) ([]byte, error) {
	out := Room(dst, limit)
	end := len(out) + limit
	var spare [1]byte
	for {
		free := out[len(out):end]
		full := len(free) == 0
		if full { // all that is due is here: the end must come now, with its checksum
			free = spare[:]
		}
		k, err := r.Read(free)
		if full && k > 0 {
			return nil, OverLimit(name, limit)
		}
		out = out[:len(out)+k]
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, Corrupt(name, err.Error())
		}
	}
}
