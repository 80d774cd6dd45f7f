package blosc2

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strconv"
	"sync"

	"github.com/gridhold/gridhold/sdk/blosc2/msgpack"
	"github.com/gridhold/gridhold/sdk/fault"
)

// ChecksumLayer is the variable-length metalayer that checksums are kept in,
// if they are. python-blosc2 keeps it and knows nothing of it.
//
// Its value is the MessagePack of {"version": 1, "index": CRC, "chunks": …}:
// the CRC-32C of the decoded index, and for each stored chunk, in the order of
// the index and little endian, its entry there (int64), how many bytes it has
// (uint32) and their CRC-32C (uint32).
//
// They hold as long as nobody else writes. Whoever does leaves them behind:
// the C library writes a trailer anew with each change, and zeros for its
// fingerprint, which no release computes. Ours has there, while the checksums
// hold, sumsMark and the CRC-32C of the layer's packed value.
const ChecksumLayer = "gridhold_crc32c"

// sumsMark is the first 12 bytes of a fingerprint of ours.
const sumsMark = "gridhold\x00\x00\x00\x01"

const sumLen = 16 // bytes of a chunk's entry in the layer

// sum is what is known of a stored chunk.
type sum struct {
	size int64
	crc  uint32
}

func sumOf(chunk []byte) sum { return sum{int64(len(chunk)), crc32.Checksum(chunk, castagnoli)} }

// sums are the checksums of one state.
type sums struct {
	index  uint32
	chunks map[int64]sum // by entry of the index
}

// fingerprint is that of a trailer with these metalayers.
func fingerprint(layers []Metalayer) []byte {
	packed, ok := find(layers, ChecksumLayer)
	if !ok {
		return make([]byte, 16)
	}
	return binary.LittleEndian.AppendUint32([]byte(sumsMark), crc32.Checksum(packed, castagnoli))
}

// summed reports whether checksums are kept, and whether they hold: nobody
// else wrote since.
func (v *view) summed() (kept, hold bool) {
	if _, kept = find(v.vlmeta, ChecksumLayer); !kept {
		return false, false
	}
	return true, string(v.tail[len(v.tail)-16:]) == string(fingerprint(v.vlmeta))
}

// known are the checksums of a view, read when they are asked for.
type known struct {
	once sync.Once
	sums *sums
	err  error
}

// checksums returns those of the layer; nil where there are none, or none that
// hold.
func (v *view) checksums(o Options) (*sums, error) {
	v.known.once.Do(func() { v.known.sums, v.known.err = v.readChecksums(o) })
	return v.known.sums, v.known.err
}

func (v *view) readChecksums(o Options) (*sums, error) {
	if _, hold := v.summed(); !hold {
		return nil, nil
	}
	b, err := v.vlvalue(ChecksumLayer, o)
	if err != nil {
		return nil, err
	}
	object, err := msgpack.Decode(b)
	if err != nil {
		return nil, err
	}
	m, _ := object.(msgpack.Map)
	version, index := whole(m, "version"), whole(m, "index")
	value, _ := m.Get("chunks")
	list, ok := value.([]byte)
	if version != 1 {
		return nil, fault.New(fault.ErrUnsupported, "checksums", "", "of version "+strconv.FormatInt(version, 10))
	}
	if !ok || index < 0 || len(list)%sumLen != 0 {
		return nil, fault.New(fault.ErrCorrupt, "checksums", "", "the layer is damaged")
	}
	s := &sums{uint32(index), make(map[int64]sum, len(list)/sumLen)}
	for ; len(list) > 0; list = list[sumLen:] {
		s.chunks[int64(binary.LittleEndian.Uint64(list))] = sum{int64(binary.LittleEndian.Uint32(list[8:])), binary.LittleEndian.Uint32(list[12:])}
	}
	return s, nil
}

// note keeps the checksum of a chunk that was written for a draft.
func (d *draft) note(entry int64, chunk []byte) {
	if _, kept := find(d.vlmeta, ChecksumLayer); !kept {
		return
	}
	if d.noted == nil {
		d.noted = map[int64]sum{}
	}
	d.noted[entry] = sumOf(chunk)
}

// checksum brings the layer up to date, if there is one. Chunks whose
// checksums do not hold any more are read: what they are now is what they are
// from now on.
func (d *draft) checksum(ctx context.Context) error {
	if _, kept := find(d.vlmeta, ChecksumLayer); !kept {
		return nil
	}
	if most := d.f.o.Limits.Meta / sumLen; int64(len(d.entries)) > most {
		return overLimit("checksums of more than " + strconv.FormatInt(most, 10) + " chunks")
	}
	old, err := d.f.view.checksums(d.f.o)
	if err != nil || old == nil {
		old = &sums{}
	}
	list := make([]byte, 0, sumLen*len(d.entries))
	for i, e := range d.entries {
		if e < 0 {
			continue
		}
		s, ok := d.noted[e]
		if !ok {
			s, ok = old.chunks[e]
		}
		if !ok {
			place, err := d.f.view.at(ctx, e)
			if err != nil {
				return chunkError(int64(i), err)
			}
			b, err := readChunk(place, 0, place.room, d.f.o.Limits.Chunk)
			place.Close()
			if err != nil {
				return chunkError(int64(i), err)
			}
			s = sumOf(b)
		}
		list = binary.LittleEndian.AppendUint64(list, uint64(e))
		list = binary.LittleEndian.AppendUint32(list, uint32(s.size))
		list = binary.LittleEndian.AppendUint32(list, s.crc)
	}
	return d.setSums(list)
}

// setSums sets the layer.
func (d *draft) setSums(list []byte) error {
	b, err := msgpack.Append(nil, msgpack.Map{
		{Key: "version", Value: int64(1)}, {Key: "index", Value: int64(sumEntries(d.entries))}, {Key: "chunks", Value: list},
	})
	if err != nil {
		return err
	}
	return d.setVL(ChecksumLayer, b)
}

// sumEntries is the CRC-32C of a decoded index.
func sumEntries(entries []int64) uint32 {
	var crc uint32
	b := make([]byte, 0, 1<<12)
	for part := range slices.Chunk(entries, cap(b)/8) {
		b = b[:0]
		for _, e := range part {
			b = binary.LittleEndian.AppendUint64(b, uint64(e))
		}
		crc = crc32.Update(crc, castagnoli, b)
	}
	return crc
}

// matches compares the bytes of a stored chunk with its checksum.
func (s *sums) matches(entry int64, chunk []byte) error {
	if s == nil {
		return nil
	}
	switch known, ok := s.chunks[entry]; {
	case !ok:
		return fault.New(fault.ErrCorrupt, "checksums", "", "there is none of where the index says the chunk is")
	case known != sumOf(chunk):
		return fault.New(fault.ErrCorrupt, "checksums", "", "its bytes are not those that were written")
	}
	return nil
}

// doubted is the error of a chunk that is of a kind not done here: ErrCorrupt, if
// its checksum says that it is not what was written.
func (v *view) doubted(ctx context.Context, i int64, err error, o Options) error {
	if !errors.Is(err, fault.ErrUnsupported) {
		return err
	}
	known, unknown := v.checksums(o)
	e, bad := v.index.at(i)
	if known == nil || unknown != nil || bad != nil || e.value() < 0 {
		return err
	}
	var b []byte
	if want, ok := known.chunks[e.value()]; ok {
		s, gone := v.at(ctx, e.value())
		if gone != nil {
			return err
		}
		defer s.Close()
		if b, gone = readAt(s, 0, min(want.size, s.room)); gone != nil {
			return err
		}
	}
	if different := known.matches(e.value(), b); different != nil {
		return chunkError(i, different)
	}
	return err
}

// KeepChecksums makes checksums of all chunks, which every commit keeps up to
// date from then on, or does away with them. Verify compares. It costs 16
// bytes a chunk and commit.
func (s *SChunk) KeepChecksums(ctx context.Context, keep bool) error {
	return s.f.change(ctx, func(d *draft) error {
		i := slices.IndexFunc(d.vlmeta, func(m Metalayer) bool { return m.Name == ChecksumLayer })
		switch {
		case keep && i < 0:
			return d.setSums(nil) // what is missing is added when it is published
		case !keep && i >= 0:
			d.vlmeta = slices.Delete(slices.Clone(d.vlmeta), i, i+1)
		}
		return nil
	})
}
