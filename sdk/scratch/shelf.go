package scratch

import "github.com/gridhold/gridhold/sdk/storage"

// shelf is where the runs of a scratch lie: memory of this process, or a file
// that processes share. Safe for concurrent use until close.
type shelf interface {
	// stampOf returns the stamp that runs of a key are held for, and its
	// generation.
	stampOf(k *key) (stamp, uint32, error)
	// restamp gives a key another stamp: nothing of it is there any more. It
	// returns the new generation; ErrLocked where another does so right now.
	restamp(k *key, s stamp) (generation uint32, err error)
	// has reports whether a run is said to be there.
	has(r run) bool
	// load copies the bytes of a run at off into dst, if the run is there and
	// what it is said to be. An error says why it cannot be read; it is as
	// absent then.
	load(r run, dst []byte, off int64) (ok bool, err error)
	// claim keeps others from taking in a run until release; ErrLocked if
	// another does.
	claim(r run) (release func(), err error)
	// buffer gives memory for a run, giveBack takes it back.
	buffer(r run) []byte
	giveBack(b []byte)
	// keep publishes the pixels of a claimed run, from buffer, as they are in
	// a generation of its key. It owns b from then on if it says so.
	keep(r run, generation uint32, b []byte) (owns bool, err error)
	// keepFrom publishes a claimed run whose pixels lie in a file, without
	// moving them through this program. short: the file ended before.
	keepFrom(r run, generation uint32, f storage.File, off int64, still func() error) (short bool, err error)
	close() error
}
