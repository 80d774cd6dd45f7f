package zarr

import "encoding/binary"

// entries are the offset and the length of each subchunk of a shard in C order,
// eight bytes each, little endian: as most indexes are stored, so that such a
// one is read, checked, and kept without being written anew.
type entries []byte

// empty is the offset and the length of a subchunk that is not there.
const empty = 1<<64 - 1

func newEntries(count int64) entries { return make(entries, 16*count) }

func (e entries) len() int64 { return int64(len(e) / 16) }

func (e entries) at(i int64) (off, n uint64) {
	b := e[16*i : 16*i+16 : 16*i+16]
	return binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
}

func (e entries) set(i int64, off, n uint64) {
	b := e[16*i : 16*i+16 : 16*i+16]
	binary.LittleEndian.PutUint64(b, off)
	binary.LittleEndian.PutUint64(b[8:], n)
}
