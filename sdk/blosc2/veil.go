package blosc2

import (
	"bytes"

	"github.com/gridhold/gridhold/sdk/storage"
)

// veiled is a new frame among the files of a store, which is none until it is
// about to get its name: the fixed part of its header is written last.
// python-blosc2 takes for a leaf whatever opens as a frame, under any name, also
// what a writer is at or left behind.
type veiled struct {
	storage.File
	head []byte // what is missing
}

// WriteAt is storage.File's. The header is written in one piece.
func (f *veiled) WriteAt(p []byte, off int64) (int, error) {
	if off > 0 || len(p) < fixedLen {
		return f.File.WriteAt(p, off)
	}
	f.head = bytes.Clone(p[:fixedLen])
	return f.File.WriteAt(append(make([]byte, fixedLen), p[fixedLen:]...), off)
}

// unveil writes what is missing.
func (f *veiled) unveil(d Durability) error { return rewriteHeader(f.File, f.head, d) }
