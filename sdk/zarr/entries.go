package zarr

import (
	"encoding/binary"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// entries are the offset and the length of each subchunk of a shard in C
// order, little endian. Of a shard below 4 GiB they have four bytes each, so
// that twice as many indexes fit into a cache. Others have eight, as most are
// stored: such an index is kept as it was read.
type entries struct {
	b    []byte
	wide bool
}

// empty is the offset and the length of a subchunk that is not there.
const empty, narrowEmpty = 1<<64 - 1, 1<<32 - 1

// newEntries makes room for so many, none of which passes an end.
func newEntries(count int64, end uint64) entries {
	if end < narrowEmpty {
		return entries{b: make([]byte, 8*count)}
	}
	return entries{b: make([]byte, 16*count), wide: true}
}

func (e entries) len() int64 {
	if e.wide {
		return int64(len(e.b) / 16)
	}
	return int64(len(e.b) / 8)
}

func (e entries) at(i int64) (off, n uint64) {
	if e.wide {
		return wideAt(e.b, 16*i)
	}
	both := binary.LittleEndian.Uint64(e.b[8*i : 8*i+8])
	if off, n = both&narrowEmpty, both>>32; off == narrowEmpty {
		return empty, empty
	}
	return off, n
}

// wideAt is the entry in 16 bytes from i.
func wideAt(b []byte, i int64) (off, n uint64) {
	return binary.LittleEndian.Uint64(b[i : i+8]), binary.LittleEndian.Uint64(b[i+8 : i+16])
}

func (e entries) set(i int64, off, n uint64) {
	if e.wide {
		binary.LittleEndian.PutUint64(e.b[16*i:16*i+8], off)
		binary.LittleEndian.PutUint64(e.b[16*i+8:16*i+16], n)
		return
	}
	binary.LittleEndian.PutUint64(e.b[8*i:8*i+8], off&narrowEmpty|n<<32)
}

// fill checks stored entries, sixteen bytes each, and puts them from i on.
// Wide ones are there already: they share memory with what is stored.
func (e entries) fill(i int64, stored []byte, lo, hi uint64) error {
	var narrow []byte
	if !e.wide {
		narrow = e.b[8*i:]
	}
	for ; len(stored) >= 16; i++ {
		off, n := binary.LittleEndian.Uint64(stored), binary.LittleEndian.Uint64(stored[8:])
		if off&n != empty && (off < lo || off > hi || n > hi-off) { // one alone that is empty is beyond every end
			return fault.At(fault.ErrCorrupt, "shard index", "entry "+itoa(i), int64(off),
				"range of "+strconv.FormatUint(n, 10)+" bytes is not within "+itoa(int64(lo))+".."+itoa(int64(hi)))
		}
		stored = stored[16:]
		if len(narrow) >= 8 {
			binary.LittleEndian.PutUint64(narrow, off&narrowEmpty|n<<32)
			narrow = narrow[8:]
		}
	}
	return nil
}
