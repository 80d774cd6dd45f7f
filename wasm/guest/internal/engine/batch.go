package engine

import (
	"context"
	"encoding/binary"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/zarr"
	"github.com/gridhold/gridhold/wasm/wire"
)

// maxBatch bounds the indices of one request, which take no bytes where
// there are no axes.
const maxBatch = 1 << 20

// parseBatch reads the request of read_subchunks and locate_subchunks.
func (e *Engine) parseBatch(q *request, r *wire.Reader) fault.Code {
	q.at = e.arrayOf(r.U32())
	cache := r.U32()
	q.flags = r.U32()
	axes, count := r.U32(), r.U32()
	if count > maxBatch {
		return fault.CodeLimit
	}
	for range count {
		if r.Bad() {
			break
		}
		q.indices = append(q.indices, r.Dims(nil, axes))
	}
	if cache != 0 {
		q.cache = e.cacheOf(cache)
	}
	if code := closedUnless(r, q.at != nil && (cache == 0 || q.cache != nil)); code != 0 {
		return code
	}
	if q.kind == wire.KindReadSubchunks {
		// Each twice: as it is decoded, and in the answer.
		q.weight = max(someBytes, volume([]int64{2, int64(count)}, q.at.subchunk))
	}
	return 0
}

// readSubchunks packs several subchunks as gh_batch.
func (e *Engine) readSubchunks(ctx context.Context, q *request) (answer, error) {
	if q.weight > e.gate.limit {
		return answer{}, fault.New(fault.ErrLimit, "batch", "", "larger than the memory allows")
	}
	parts, err := q.at.array.RetrieveSubchunks(ctx, q.indices, q.options())
	if err != nil {
		return answer{}, err
	}
	size := 8 * len(parts)
	for _, p := range parts {
		size += len(p)
	}
	b := make([]byte, 8*len(parts), size)
	for i, p := range parts {
		b = append(b, p...)
		binary.LittleEndian.PutUint64(b[8*i:], uint64(len(b)))
		parts[i] = nil
	}
	return answer{kind: wire.Bytes, bytes: b}, nil
}

// objectOf is what the places in one object have in common.
type objectOf struct{ key, version string }

// locateSubchunks packs where several subchunks lie as gh_places.
func (e *Engine) locateSubchunks(ctx context.Context, q *request) (answer, error) {
	if err := q.at.mustBeTheHosts(); err != nil {
		return answer{}, err
	}
	places, err := q.at.array.LocateSubchunks(ctx, q.indices, q.options())
	if err != nil {
		return answer{}, err
	}
	numbers := map[objectOf]uint32{}
	var objects []objectOf
	le := binary.LittleEndian
	b := make([]byte, 8, 8+24*len(places))
	for _, l := range places {
		number, flags := uint32(0), uint32(0)
		if l.Key == "" {
			l.Off, l.Len = -1, -1
		} else {
			number = numberOf(numbers, &objects, l)
		}
		if l.Raw {
			flags = wire.PlaceRaw
		}
		b = le.AppendUint64(le.AppendUint64(b, uint64(l.Off)), uint64(l.Len))
		b = le.AppendUint32(le.AppendUint32(b, number), flags)
	}
	le.PutUint32(b, uint32(len(places)))
	le.PutUint32(b[4:], uint32(len(objects)))
	for _, o := range objects {
		b = le.AppendUint32(le.AppendUint32(b, uint32(len(o.key))), uint32(len(o.version)))
		b = append(append(b, o.key...), o.version...)
	}
	return answer{kind: wire.Bytes, bytes: b, object: q.at.host}, nil
}

// numberOf returns the position of a place's object in objects, where it
// puts one that is new.
func numberOf(numbers map[objectOf]uint32, objects *[]objectOf, l zarr.Location) uint32 {
	o := objectOf{l.Key, string(l.Version)}
	n, ok := numbers[o]
	if !ok {
		n = uint32(len(*objects))
		numbers[o] = n
		*objects = append(*objects, o)
	}
	return n
}
