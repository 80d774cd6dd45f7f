// Package storage holds the ports: what the core asks of whoever hosts it.
//
// A Store is objects under keys (a directory tree, HTTP, a zip, memory),
// replaced whole. An FS holds mutable files. A Locker, a Clock and a Fetcher
// are the other three things that the core cannot do by itself. All calls
// take a context, may be made from any number of goroutines at once, and
// report errors of package fault.
//
// Policy lives here and is written once (HTTP over a Fetcher, coalescing);
// mechanism lives in the host (package native, the wasm guest's imports).
// Every adapter is held by the suite of package storagetest.
package storage

import (
	"context"
	"reflect"
)

// Range names bytes of an object.
//
//	Off >= 0, Len >= 0   the Len bytes from Off
//	Off >= 0, Len < 0    from Off to the end
//	Off < 0              the last Len bytes (all of a shorter object)
type Range struct{ Off, Len int64 }

// Suffix is the last n bytes of an object.
func Suffix(n int64) Range { return Range{Off: -1, Len: n} }

// All is the whole object.
var All = Range{Off: 0, Len: -1}

// Version names one state of an object's bytes. Only equality means
// anything. The empty Version is unknown: a store that knows no versions
// answers it, and staleness is then not noticed.
type Version string

// ObjectInfo comes with bytes, from the same call.
type ObjectInfo struct {
	Size    int64   // of the whole object in bytes; -1 where the store does not tell
	Version Version // of the bytes that were read
}

// Store gives ranges of objects. Keys are UTF-8 with "/" between names, no
// leading "/", no empty name, no "." or ".." (ValidKey).
type Store interface {
	// ReadRanges returns the bytes of each range, in order, all of one
	// version. Buffers belong to the caller.
	//
	// A range with Len >= 0 that reaches past the end is answered short,
	// with what is there (possibly nothing): who needs all of it checks the
	// length.
	//
	// want != "" asks for that version: ErrStale if the object is another
	// one now. ErrNotFound if there is no object; any other failure is an
	// error of its own kind and never ErrNotFound.
	ReadRanges(ctx context.Context, key string, rs []Range, want Version) ([][]byte, ObjectInfo, error)
}

// BufferReader is an optional power of a Store: it reads one range into
// memory of the caller's.
type BufferReader interface {
	// ReadInto reads len(dst) bytes at off into dst and returns how many
	// there were; fewer only at the end of the object. want and errors as in
	// ReadRanges. dst is the store's until ReadInto returns, never after.
	ReadInto(ctx context.Context, key string, off int64, dst []byte, want Version) (int, ObjectInfo, error)
}

// SharedReader is an optional power of a Store that hosts several readers of
// the same small, hot ranges (shard indexes, metadata).
type SharedReader interface {
	// ReadShared is ReadRanges for bytes that others will ask for too: the
	// store may join equal requests and keep the bytes. reload asks for
	// bytes newer than any kept.
	ReadShared(ctx context.Context, key string, rs []Range, want Version, reload bool) ([][]byte, ObjectInfo, error)
}

// Checker is an optional power of a Store that can cheaply tell whether an
// object is still the one that was read.
type Checker interface {
	// Check returns nil if the object has the wanted version, which is not
	// empty: ErrStale if it has another, ErrNotFound if there is none.
	Check(ctx context.Context, key string, want Version) error
}

// Lister is an optional power of a Store.
type Lister interface {
	// List returns the names directly under prefix ("" or ending in "/"),
	// sorted, without the prefix; names that have others below end in "/".
	// A prefix without names gives an empty list.
	List(ctx context.Context, prefix string) ([]string, error)
}

// ReadInto reads through BufferReader where the store has it, and copies
// otherwise.
func ReadInto(ctx context.Context, s Store, key string, off int64, dst []byte, want Version) (int, ObjectInfo, error) {
	if br, ok := s.(BufferReader); ok {
		return br.ReadInto(ctx, key, off, dst, want)
	}
	bs, info, err := s.ReadRanges(ctx, key, []Range{{off, int64(len(dst))}}, want)
	if err != nil {
		return 0, info, err
	}
	return copy(dst, bs[0]), info, nil
}

// ReadShared reads through SharedReader where the store has it.
func ReadShared(ctx context.Context, s Store, key string, rs []Range, want Version, reload bool) ([][]byte, ObjectInfo, error) {
	if sr, ok := s.(SharedReader); ok {
		return sr.ReadShared(ctx, key, rs, want, reload)
	}
	return s.ReadRanges(ctx, key, rs, want)
}

// ReadAll returns the whole object, as it is now, or ErrLimit where it has
// more than limit bytes. An object of up to 1 MiB takes one read.
func ReadAll(ctx context.Context, s Store, key string, limit int64) ([]byte, ObjectInfo, error) {
	// The limit is a bound against the absurd. A host that needs memory before
	// it reads should not be asked to have that much.
	first := min(limit+1, 1<<20)
	bs, info, err := ReadShared(ctx, s, key, []Range{{0, first}}, "", true)
	if err == nil && int64(len(bs[0])) == first && first <= limit && info.Size != first {
		if info.Size > limit {
			return nil, info, tooLarge(key, limit)
		}
		bs, info, err = ReadShared(ctx, s, key, []Range{{0, limit + 1}}, "", true)
	}
	if err != nil {
		return nil, info, err
	}
	if int64(len(bs[0])) > limit {
		return nil, info, tooLarge(key, limit)
	}
	return bs[0], info, nil
}

// Same reports whether two stores are one: the same Store, or two that name
// the same thing with a method Identity() string that is not empty.
func Same(a, b Store) bool {
	type named interface{ Identity() string }
	if x, ok := a.(named); ok {
		if y, ok := b.(named); ok && x.Identity() != "" && x.Identity() == y.Identity() {
			return true
		}
	}
	return reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && a == b
}
