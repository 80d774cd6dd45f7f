package scratch

import (
	"encoding/binary"

	"github.com/gridhold/gridhold/sdk/storage"
)

// word is the state of a run: 8 bytes that are written in one go and publish
// everything that was written before.
//
//	bits  0..1   0 absent, 2 present
//	bits  2..15  generation of the key, its low 14 bits
//	bits 16..47  CRC-32C of the pixels of the run
//	bits 48..63  check of the bits below, which also tells one run from another
//
// Zero is absent. A word whose check is wrong counts as absent: it was torn,
// or is not one.
type word uint64

const (
	statePresent = 2
	generations  = 1 << 14
)

// present makes the word of a run that is there.
func present(run int64, generation, crc uint32, salt uint64) word {
	w := statePresent | uint64(generation%generations)<<2 | uint64(crc)<<16
	return word(w | check(w, uint64(run), salt)<<48)
}

// holds reports whether the word says that the run is there, as it was in a
// generation of its key.
func (w word) holds(run int64, generation uint32, salt uint64) bool {
	return w&3 == statePresent && uint32(w>>2)%generations == generation%generations && w.valid(run, salt)
}

// valid reports whether the word is absent or has the right check.
func (w word) valid(run int64, salt uint64) bool {
	return w == 0 || uint64(w>>48) == check(uint64(w)&(1<<48-1), uint64(run), salt)
}

// crc is the checksum that a present word carries.
func (w word) crc() uint32 { return uint32(w >> 16) }

// stampWord says which of two stamps of a key counts.
//
//	bits  0..31  generation, from 1
//	bit  32      which of the two
//	bits 48..63  check, as in word
type stampWord uint64

func makeStampWord(key int, generation uint32, which int, salt uint64) stampWord {
	w := uint64(generation) | uint64(which)<<32
	return stampWord(w | check(w, ^uint64(key), salt)<<48)
}

func (w stampWord) generation() uint32 { return uint32(w) }
func (w stampWord) which() int         { return int(w>>32) & 1 }

func (w stampWord) valid(key int, salt uint64) bool {
	return w.generation() != 0 && uint64(w>>48) == check(uint64(w)&(1<<48-1), ^uint64(key), salt)
}

// check returns 16 bits of a CRC-32C of a word, what it belongs to and the
// salt of the file.
func check(w, owner, salt uint64) uint64 {
	var b [24]byte
	binary.LittleEndian.PutUint64(b[:], w)
	binary.LittleEndian.PutUint64(b[8:], owner)
	binary.LittleEndian.PutUint64(b[16:], salt)
	return uint64(storage.UpdateCRC(0, b[:]) >> 16)
}
