package zarr

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/gridhold/gridhold/sdk/fault"
)

// sharding is the codec "sharding_indexed": subchunks, each with a codec
// pipeline of its own, and an index of where they lie, at one end.
//
// Zarr v3 codec "sharding_indexed": https://zarr-specs.readthedocs.io/en/latest/v3/codecs/sharding-indexed/
type sharding struct {
	sub     []int64 // shape of a subchunk
	inner   *chain  // decodes a subchunk
	index   *chain  // decodes the index, an array of uint64 of shape per + [2]
	atStart bool
	summed  bool // the index is stored as it is, with a CRC-32C behind it
	elem    element
	regular layout // of the shape that the metadata names
	limit   int64  // bytes of an index
	order   SubchunkOrder
}

// layout is what follows from the shape of a shard.
type layout struct {
	shape     []int64 // of the shard
	per       []int64 // subchunks per axis
	count     int64   // of subchunks
	indexSize int64   // bytes of the index as stored
}

func parseSharding(field string, e extension, elem element, shape []int64, o Options) (serializer, error) {
	field += "." + e.name
	if err := e.only(field, "chunk_shape", "codecs", "index_codecs", "index_location"); err != nil {
		return nil, err
	}
	s := &sharding{elem: elem, limit: o.Limits.index(), order: o.SubchunkOrder}
	var err error
	if s.sub, err = sizes(field+".chunk_shape", e.config["chunk_shape"], 1); err != nil {
		return nil, err
	}
	if len(s.sub) != len(shape) {
		return nil, malformed(field+".chunk_shape", "has "+itoa(int64(len(s.sub)))+" axes, want "+itoa(int64(len(shape))))
	}
	for i, n := range s.sub {
		if shape[i]%n != 0 {
			return nil, malformed(field+".chunk_shape", tuple(s.sub)+" does not divide the shard "+tuple(shape))
		}
	}
	if s.atStart, err = parseLocation(field+".index_location", e.config["index_location"]); err != nil {
		return nil, err
	}
	if s.inner, err = parseChain(field+".codecs", e.config["codecs"], elem, s.sub, o); err != nil {
		return nil, err
	}
	per := gridShape(shape, s.sub)
	s.index, err = parseChain(field+".index_codecs", e.config["index_codecs"], indexElement, append(per, 2), Options{Limits: o.Limits})
	if err != nil {
		return nil, err
	}
	s.summed = s.index.summed()
	if s.regular, err = s.layout(shape); err != nil {
		return nil, err
	}
	return s, nil
}

var indexElement = newElement(integers["uint64"], make([]byte, 8))

func parseLocation(field string, raw json.RawMessage) (atStart bool, err error) {
	switch string(raw) {
	case "", `"end"`:
		return false, nil
	case `"start"`:
		return true, nil
	}
	return false, malformed(field, brief(raw)+` is neither "start" nor "end"`)
}

// layout works out a shard's layout from its shape.
func (s *sharding) layout(shape []int64) (layout, error) {
	if s.regular.per != nil && slices.Equal(s.regular.shape, shape) {
		return s.regular, nil
	}
	l := layout{shape: slices.Clone(shape), per: gridShape(shape, s.sub)}
	var ok bool
	if l.count, ok = product(l.per...); !ok || l.count > maxAlloc*int64(8) {
		return l, fault.New(fault.ErrLimit, "metadata", "index", "a shard of "+tuple(l.per)+" subchunks has too large an index")
	}
	var fixed bool
	l.indexSize, fixed = s.index.encodedSize(append(append([]int64{}, l.per...), 2))
	if !fixed {
		return l, malformed("index_codecs", "the size of the index is not fixed")
	}
	if l.indexSize > s.limit {
		return l, fault.New(fault.ErrLimit, "metadata", "index", "an index of "+itoa(l.indexSize)+" bytes is over the limit of "+itoa(s.limit))
	}
	return l, nil
}

// decode decodes a whole shard that lies in memory.
func (s *sharding) decode(ctx context.Context, ar *arena, dst, src []byte, shape []int64) ([]byte, error) {
	n, ok := product(append([]int64{s.elem.size}, shape...)...)
	if !ok || n > maxAlloc {
		return nil, fault.New(fault.ErrLimit, "shard", "", "would decode to "+itoa(n)+" bytes")
	}
	out := buffer(dst, n)
	ref := shardRef{codec: s, shape: shape, from: inMemory(src)}
	return out, reader{arena: ar}.shard(ctx, ref, make([]int64, len(shape)), shape, cOrder(out, shape, s.elem.size))
}

// encodedSize bounds a shard by its index and its subchunks one by one; a
// writer may have left gaps, so this is no limit for what is read.
func (s *sharding) encodedSize(shape []int64) (int64, bool) {
	l, err := s.layout(shape)
	if err != nil {
		return maxAlloc, false
	}
	each, _ := s.inner.encodedSize(s.sub)
	n, ok := product(l.count, each)
	if !ok || n > maxAlloc {
		return maxAlloc, false
	}
	return max(2*n+l.indexSize, 1<<20), false
}
