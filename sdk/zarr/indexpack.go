package zarr

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/storage"
)

// IndexPack is the indexes of all shards of an array, or of all arrays below a
// group, gathered in one small file: who opens an array with it
// (Options.IndexPack) reads any subchunk with one request, the first one too.
//
// Each index has the version of the shard that it came from, and the data are
// asked for in that version. When a shard was replaced since, its index is
// loaded from the store and the pack's is not used again. What a pack says is
// not stored is asked of the shard itself, once: nothing else would tell
// whether that still holds.
//
// A pack belongs to arrays of the same layout (shape, grid, keys, data type,
// codecs) at the same paths below what it was built of; others are refused
// with ErrWrongArray. It may be used by any number of arrays at once.
//
// The file, little endian, with varints as encoding/binary has them:
//
//	"GHINDEX\x01"  CRC-32C of what follows (4 bytes)
//	count of arrays, and for each:
//	  path          length, bytes; relative, "" for the array itself
//	  layout        16 bytes, FNV-128a of the metadata's members
//	  count of shards, length of what follows, and for each, by rising number:
//	    number in the chunk grid, less that of the one before, less 1
//	    version     0, length, bytes; or 1, and a quoted MD5 as 16 bytes
//	    size        of the object, plus 1; 0: unknown
//	    entries     length, bytes; see packEntries
type IndexPack struct {
	arrays []*packedArray
	file   []byte
}

const packMagic = "GHINDEX\x01"

const packHeader = len(packMagic) + 4

// packedArray is the indexes of one array.
type packedArray struct {
	path    string
	layout  [16]byte
	numbers []int64 // of shards, rising
	places  []int   // in body, of each
	body    []byte

	mu       sync.RWMutex
	outdated map[int64]bool // shards that were replaced since
}

// PackSize is what a pack holds.
type PackSize struct {
	Arrays, Shards, Bytes int64 // Bytes of the file
}

// Size returns what the pack holds.
func (p *IndexPack) Size() PackSize {
	s := PackSize{Arrays: int64(len(p.arrays)), Bytes: int64(len(p.file))}
	for _, a := range p.arrays {
		s.Shards += int64(len(a.numbers))
	}
	return s
}

// Bytes returns the file. It must not be changed.
func (p *IndexPack) Bytes() []byte { return p.file }

// layoutOf is what has to be the same for an index to mean the same.
func layoutOf(m *metadata) (sum [16]byte) {
	h := fnv.New128a()
	members := rawjson.MembersOf(m.raw)
	for _, name := range []string{"shape", "data_type", "chunk_grid", "chunk_key_encoding", "codecs"} {
		h.Write(rawjson.Compact(members.Raw(name)))
		h.Write([]byte{0})
	}
	h.Sum(sum[:0])
	return sum
}

// of finds what a pack has for an array: nil for one whose subchunks are not
// read by index. An array is known by the end of its path.
func (p *IndexPack) of(a *Array) (*packedArray, error) {
	if p == nil || !a.byRange {
		return nil, nil
	}
	why := "has no array of this path"
	for _, known := range p.arrays { // those with longer paths first
		if known.path != "" && a.path != known.path && !strings.HasSuffix(a.path, "/"+known.path) {
			continue
		}
		if known.layout == layoutOf(a.meta) {
			return known, nil
		}
		why = "was built of an array of another layout"
	}
	return nil, fault.New(fault.ErrWrongArray, "zarr", "/"+a.path, "the index pack "+why)
}

// index returns the index of a shard, nil if the pack has none that holds.
func (p *packedArray) index(ref shardRef, l layout) (*ShardIndex, error) {
	i, ok := slices.BinarySearch(p.numbers, ref.key.shard)
	if !ok {
		return nil, nil
	}
	p.mu.RLock()
	outdated := p.outdated[ref.key.shard]
	p.mu.RUnlock()
	if outdated {
		return nil, nil
	}
	r := &packReader{b: p.body, at: p.places[i]}
	info, packed := r.shard()
	x := &ShardIndex{key: ref.from.key, info: info, packed: true}
	err := r.err
	if err == nil {
		x.entries, err = unpackEntries(packed, l.count, info.Size)
	}
	if err != nil {
		return nil, &fault.Error{Format: "index pack", Item: ref.from.key, Off: -1, Err: err}
	}
	return x, nil
}

// outdate leaves a shard to the store from now on.
func (p *packedArray) outdate(shard int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.outdated == nil {
		p.outdated = map[int64]bool{}
	}
	p.outdated[shard] = true
}

// ParseIndexPack reads the file of a pack. Its bytes are kept and must not be
// changed. ErrCorrupt if it is damaged or no pack, ErrUnsupported for a later
// version.
func ParseIndexPack(b []byte) (*IndexPack, error) {
	if len(b) < packHeader || string(b[:7]) != packMagic[:7] {
		return nil, fault.New(fault.ErrCorrupt, "index pack", "", "is no index pack")
	}
	if b[7] != packMagic[7] {
		return nil, fault.New(fault.ErrUnsupported, "index pack", "", "is of version "+itoa(int64(b[7])))
	}
	if binary.LittleEndian.Uint32(b[8:]) != storage.UpdateCRC(0, b[packHeader:]) {
		return nil, fault.New(fault.ErrCorrupt, "index pack", "", "the checksum is wrong")
	}
	p := &IndexPack{file: b}
	r := &packReader{b: b, at: packHeader}
	for range r.count(20) {
		a := &packedArray{path: string(r.bytes(r.count(1)))}
		copy(a.layout[:], r.bytes(16))
		shards := r.count(4)
		a.body = r.bytes(r.count(1))
		if r.err == nil {
			r.err = a.scan(shards)
		}
		p.arrays = append(p.arrays, a)
	}
	if r.err == nil && r.at != len(b) {
		r.fail("bytes after the end")
	}
	if r.err != nil {
		return nil, r.err
	}
	sortArrays(p.arrays)
	return p, nil
}

// sortArrays puts longer paths before the shorter ones that they end with.
func sortArrays(arrays []*packedArray) {
	slices.SortStableFunc(arrays, func(a, b *packedArray) int { return len(b.path) - len(a.path) })
}

// scan finds the shards in the body.
func (p *packedArray) scan(shards int) error {
	r := &packReader{b: p.body}
	p.numbers, p.places = make([]int64, 0, shards), make([]int, 0, shards)
	last := int64(-1)
	for range shards {
		step := r.number()
		if step >= math.MaxInt64-uint64(max(last, 0))-1 {
			r.fail("a shard beyond all grids")
			break
		}
		last += int64(step) + 1
		p.numbers, p.places = append(p.numbers, last), append(p.places, r.at)
		r.shard()
	}
	if r.err == nil && r.at != len(p.body) {
		r.fail("bytes after the last shard")
	}
	return r.err
}

// packReader reads the parts of a pack. After an error it gives zeros.
type packReader struct {
	b   []byte
	at  int
	err error
}

func (r *packReader) fail(why string) {
	if r.err == nil {
		r.err = fault.At(fault.ErrCorrupt, "index pack", "", int64(r.at), why)
	}
	r.at = len(r.b)
}

func (r *packReader) number() uint64 {
	n, k := binary.Uvarint(r.b[r.at:])
	if k <= 0 {
		r.fail("ends early")
		return 0
	}
	r.at += k
	return n
}

// count is a number of things that have at least each bytes.
func (r *packReader) count(each int) int {
	n := r.number()
	if n > uint64((len(r.b)-r.at)/each) {
		r.fail("more is promised than there is")
		return 0
	}
	return int(n)
}

func (r *packReader) bytes(n int) []byte {
	if n > len(r.b)-r.at {
		r.fail("ends early")
		return make([]byte, n)
	}
	r.at += n
	return r.b[r.at-n : r.at : r.at]
}

// shard reads what follows the number of a shard.
func (r *packReader) shard() (info storage.ObjectInfo, entries []byte) {
	if info.Version = r.version(); info.Version == "" {
		r.fail("a shard of no version, which nothing would refuse")
	}
	size := r.number()
	if size > math.MaxInt64 {
		r.fail("an object beyond 63 bits")
	}
	info.Size = int64(size) - 1
	return info, r.bytes(r.count(1))
}

func (r *packReader) version() storage.Version {
	switch r.number() {
	case 0:
		return storage.Version(r.bytes(r.count(1)))
	case 1:
		const digits = "0123456789abcdef"
		v := []byte{'"'}
		for _, c := range r.bytes(16) {
			v = append(v, digits[c>>4], digits[c&15])
		}
		return storage.Version(append(v, '"'))
	}
	r.fail("a version of an unknown kind")
	return ""
}

func appendVersion(b []byte, v storage.Version) []byte {
	if sum, ok := quotedMD5(string(v)); ok {
		return append(append(b, 1), sum[:]...)
	}
	b = binary.AppendUvarint(append(b, 0), uint64(len(v)))
	return append(b, v...)
}

// quotedMD5 reads an ETag as object stores make it.
func quotedMD5(v string) (sum [16]byte, ok bool) {
	if len(v) != 34 || v[0] != '"' || v[33] != '"' {
		return sum, false
	}
	for i := range 32 {
		c := v[1+i]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		default:
			return sum, false
		}
		sum[i/2] = sum[i/2]<<4 | c
	}
	return sum, true
}
