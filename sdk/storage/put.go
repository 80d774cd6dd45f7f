package storage

import (
	"context"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Putter is an optional power of a Store: it writes objects whole.
type Putter interface {
	// Put makes data the object under key, in one step: who reads meanwhile
	// gets the old bytes or the new, and after a crash there are the old or
	// the new. It returns the version of what was written, "" if the store
	// knows none. data is the store's until Put returns.
	//
	// ErrStale or ErrExists if c does not hold any more; then nothing was
	// written.
	Put(ctx context.Context, key string, data []byte, c Condition) (Version, error)
	// Delete removes the object under key on the same condition. Nothing
	// there is fine where the condition is none.
	Delete(ctx context.Context, key string, c Condition) error
}

// Condition is what must hold for a write to happen. The zero value is none.
type Condition struct {
	Absent  bool    // there is no object: ErrExists otherwise
	Version Version // the object has this version: ErrStale otherwise, also if there is none
}

// Writer returns the store's power to write, or ErrReadOnly.
func Writer(s Store) (Putter, error) {
	if p, ok := s.(Putter); ok {
		return p, nil
	}
	return nil, fault.New(fault.ErrReadOnly, "store", "", "this store cannot write")
}

// Check returns the error of a condition that does not hold for an object,
// which is there in a version or is not there.
func (c Condition) Check(key string, there bool, v Version) error {
	if c.Absent && there {
		return fault.New(fault.ErrExists, "store", key, "there is an object already")
	}
	if c.Version != "" && (!there || v != c.Version) {
		return Stale(key)
	}
	return nil
}
