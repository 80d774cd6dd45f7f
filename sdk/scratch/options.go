package scratch

import (
	"math"
	"time"

	"github.com/gridhold/gridhold/sdk/storage"
)

// Everything is a budget that has no end.
const Everything int64 = math.MaxInt64

// Options of a scratch. The zero value is the advice, but for Clock.
type Options struct {
	// Clock lets the scratch wait: up to 20 ms for a source that was written
	// this instant, and for another process that holds a lock for a moment.
	// nil: nobody waits. Images of such a source are then read through until
	// it has settled, and such a lock is ErrLocked.
	Clock storage.Clock
	// Overwrite lets CreateMappedFileImageScratch replace a file that is not
	// a scratch.
	Overwrite bool
	// ReadOnly reads a scratch that others make and fill, and changes nothing:
	// for who may not write, or has no locks. ErrNotFound where there is no
	// scratch of these locations and run length.
	ReadOnly bool
	// Reserve takes the space for everything that may be held when the
	// scratch is made. Without it space is taken as images are. ErrNoSpace
	// then, where it is not there.
	Reserve bool
	// KeepFree is how many bytes of the file system are left to others:
	// taking in ends there as on a full disk. 0: none.
	KeepFree int64
	// Verify says when what lies in a file is held against its checksum.
	Verify VerifyWhen
	// Boot names this run of the system, for VerifyRestart
	// (/proc/sys/kernel/random/boot_id).
	Boot string
	// Durable puts the pixels of a run on the disk before it is published,
	// so that a loss of power costs no run. It takes a sync a run. Without it
	// what is lost is found by Verify, and taken in anew.
	Durable bool
	// Revalidate is for how long a source is believed not to have changed.
	// 0: from when the scratch is made, or an image of it was last taken in.
	Revalidate time.Duration
	// OpenFiles is how many sources are kept open. 0: 32.
	OpenFiles int
	// Parallel is how many sources are looked at or opened at a time when the
	// scratch is made. 0: 16.
	Parallel int
	// Network allows a file on a network file system. All who use it must run
	// on one machine then.
	Network bool
	// NoMap reads a file by calls only.
	NoMap bool
}

func (o Options) openFiles() int {
	if o.OpenFiles <= 0 {
		return 32
	}
	return o.OpenFiles
}

func (o Options) parallel() int {
	if o.Parallel <= 0 {
		return 16
	}
	return o.Parallel
}

// VerifyWhen says when a run of a file is held against its checksum. A run whose
// checksum is wrong is taken in anew.
type VerifyWhen uint8

const (
	// VerifyFirst checks a run when this process reads it for the first time:
	// whatever happened to the file before is found.
	VerifyFirst VerifyWhen = iota
	// VerifyAlways checks it at every read.
	VerifyAlways
	// VerifyRestart is VerifyFirst, but for a file of which all was written
	// since the system began (Options.Boot): that is believed.
	VerifyRestart
)
