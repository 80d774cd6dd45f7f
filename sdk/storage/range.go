package storage

import (
	"context"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Resolve returns the bytes that r means in an object of size bytes: off and
// n with 0 <= off <= off+n <= size. A valid range that reaches past the end,
// or lies beyond it, is cut.
func (r Range) Resolve(size int64) (off, n int64) {
	if r.Off < 0 {
		n = min(r.Len, size)
		return size - n, n
	}
	off = min(r.Off, size)
	if r.Len < 0 {
		return off, size - off
	}
	return off, min(r.Len, size-off)
}

// CheckRange returns ErrInvalid for a range that means nothing: a suffix of
// negative length, or an end beyond 63 bits.
func CheckRange(key string, r Range) error {
	if r.Off < 0 && r.Len < 0 || r.Off >= 0 && r.Len > 0 && r.Off+r.Len < 0 {
		return fault.New(fault.ErrInvalid, "store", key, "not a range: "+
			strconv.FormatInt(r.Off, 10)+"+"+strconv.FormatInt(r.Len, 10))
	}
	return nil
}

// IntoRange is the range of a ReadInto: len(dst) bytes at off. ErrInvalid
// for a negative off, which in a Range would mean a suffix.
func IntoRange(key string, off int64, dst []byte) (Range, error) {
	r := Range{off, int64(len(dst))}
	if off < 0 {
		return r, fault.At(fault.ErrInvalid, "store", key, off, "negative offset")
	}
	return r, CheckRange(key, r)
}

// CheckRead is the gate of every ReadRanges: the context must last, key and
// ranges must be well formed.
func CheckRead(ctx context.Context, key string, rs []Range) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	for _, r := range rs {
		if err := CheckRange(key, r); err != nil {
			return err
		}
	}
	return Ended(ctx, key)
}

// CheckPrefix returns ErrInvalid for what List does not take: a prefix that
// is not empty and not a valid key followed by "/".
func CheckPrefix(prefix string) error {
	if prefix == "" || strings.HasSuffix(prefix, "/") && ValidKey(prefix[:len(prefix)-1]) {
		return nil
	}
	return fault.New(fault.ErrInvalid, "store", strconv.Quote(prefix), "not a valid prefix")
}

// Absent returns the ErrNotFound of a key.
func Absent(key string) error { return fault.New(fault.ErrNotFound, "store", key, "") }

// Stale returns the ErrStale of a key.
func Stale(key string) error { return fault.New(fault.ErrStale, "store", key, "") }
