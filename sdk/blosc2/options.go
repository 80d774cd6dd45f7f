package blosc2

import (
	"time"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Options say how a container is opened. The zero value is the advice.
type Options struct {
	Plugins blosc.Plugins // codecs and filters that are not built in
	Limits  Limits
	Workers int // chunks that one NDArray.Slice decodes at once, or blocks of one chunk; 0: 1
	// Map maps files into memory to read them; chunks are decoded from there.
	// A file that is cut meanwhile gives ErrIO. Not with Write or Locking:
	// ErrInvalid; ErrUnsupported where there are no mappings. The files of a
	// sparse frame's chunks are read.
	Map bool
	// Write opens for writing too. Without Locking one handle of a container
	// writes at a time: nothing keeps two from losing each other's commits.
	Write      bool
	Durability Durability

	Locking     Locking
	LockTimeout time.Duration // of each wait for the lock: ErrLockTimeout; 0: none, as python-blosc2
	// LockNetwork locks on network file systems too, which is refused
	// otherwise: their locks may not hold between machines.
	LockNetwork bool
	Locker      storage.Locker // nil: the file system's method Locker
	Clock       storage.Clock  // to wait by; nil: the file system's method Clock, or not at all

	made bool // by the call that opens it: see body.begin
}

// Durability is when what was written is made to outlast a power cut. After a
// kill alone there is the state before a commit, or after it, in any case.
type Durability uint8

// The durabilities.
const (
	SyncOnClose Durability = iota
	SyncNever
	SyncCommits
)

// Limits bound what a container can make its reader hold. Zero: the default.
type Limits struct {
	Index int64 // bytes of a decoded index of chunks (8 a chunk); 256 MiB
	Chunk int64 // bytes of one chunk that is decoded whole; 2 GiB
	Meta  int64 // bytes of a header, of a trailer, of a zip directory, and of a decoded vlmetalayer; 64 MiB
}

func (o Options) checked() (Options, error) {
	if o.Map && (o.Write || o.Locking == Locked) {
		return o, fault.New(fault.ErrInvalid, "blosc2", "options", "what is mapped is neither written to nor locked")
	}
	if o.Map {
		o.Locking = Unlocked
	}
	for _, l := range []struct {
		value *int64
		zero  int64
	}{{&o.Limits.Index, 256 << 20}, {&o.Limits.Chunk, 2 << 30}, {&o.Limits.Meta, 64 << 20}} {
		if *l.value < 0 {
			return o, fault.New(fault.ErrInvalid, "blosc2", "limits", "negative")
		}
		if *l.value == 0 {
			*l.value = l.zero
		}
	}
	return o, nil
}

func overLimit(what string) error { return fault.New(fault.ErrLimit, "frame", "", what) }
