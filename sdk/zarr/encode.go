package zarr

import (
	"context"
	"encoding/binary"

	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/fault"
)

// encode is the inverse of decode: the stored bytes of a chunk of a shape.
// data is C order, little endian, and is not changed.
func (c *chain) encode(ctx context.Context, ar *arena, data []byte, shape []int64) ([]byte, error) {
	for _, a := range c.arrays {
		var err error
		if data, err = a.encode(data, shape); err != nil {
			return nil, err
		}
		shape = a.encodedShape(shape)
	}
	b, err := c.serial.encode(ctx, ar, data, shape)
	if err != nil {
		return nil, err
	}
	for _, x := range c.bytes {
		e, ok := x.(codec.Encoder)
		if !ok {
			return nil, fault.New(fault.ErrUnsupported, "zarr", "", "writing through the codec "+x.Name())
		}
		if b, err = e.Encode(nil, b); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (p plain) encode(_ context.Context, _ *arena, data []byte, _ []int64) ([]byte, error) {
	if p.swap {
		data = append([]byte(nil), data...)
		p.elem.dtype.Swap(data)
	}
	return data, nil
}

func (v vlen) encode(_ context.Context, ar *arena, cells []byte, _ []int64) ([]byte, error) {
	n := len(cells) / cellSize
	flat, err := ar.flatten(cells, nil, v.limit)
	if err != nil {
		return nil, err
	}
	return append(binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(flat)), uint32(n)), flat...), nil
}

func (p packbits) encode(_ context.Context, _ *arena, data []byte, shape []int64) ([]byte, error) {
	size, _ := p.encodedSize(shape)
	n, _ := product(shape...)
	out := make([]byte, size)
	bits := out
	unused := byte(size*8 - n*int64(p.bits))
	switch p.padding {
	case "first_byte":
		out[0], bits = unused-8, out[1:]
	case "last_byte":
		out[size-1], bits = unused-8, out[:size-1]
	}
	bit := 0
	for i := range n {
		var v uint64
		for k := range p.elem.size {
			v |= uint64(data[i*p.elem.size+k]) << (8 * k)
		}
		v >>= p.first
		for k := range p.bits {
			bits[bit>>3] |= byte(v>>k&1) << (bit & 7)
			bit++
		}
	}
	return out, nil
}

// encode lays a whole shard out, subchunks equal to fill values left out.
func (s *sharding) encode(ctx context.Context, ar *arena, data []byte, shape []int64) ([]byte, error) {
	l, err := s.layout(shape)
	if err != nil {
		return nil, err
	}
	subs := make([][]byte, l.count)
	item := s.elem.size
	whole := cOrder(data, shape, item)
	idx := make([]int64, len(shape))
	sub := make([]byte, s.inner.size(s.sub))
	for i := range l.count {
		unravel(i, l.per, idx)
		for k := range idx {
			idx[k] *= s.sub[k]
		}
		copyBox(cOrder(sub, s.sub, item), whole.at(idx), s.sub, item)
		if subs[i], err = s.encodeSubchunk(ctx, ar, sub); err != nil {
			return nil, err
		}
	}
	return s.assemble(ctx, subs, l)
}

// encodeSubchunk returns the stored bytes of a subchunk, nil if all of it is
// fill values.
func (s *sharding) encodeSubchunk(ctx context.Context, ar *arena, sub []byte) ([]byte, error) {
	if s.elem.isFill(ar, sub) {
		return nil, nil
	}
	b, err := s.inner.encode(ctx, ar, sub, s.sub)
	if err == nil && s.inner.raw() {
		b = append([]byte(nil), b...) // sub will be used again
	}
	return b, err
}

// assemble makes a shard of stored subchunks, nil ones being empty.
func (s *sharding) assemble(ctx context.Context, subs [][]byte, l layout) ([]byte, error) {
	index := make([]byte, 16*l.count)
	size, off := int64(0), uint64(0)
	if s.atStart {
		off = uint64(l.indexSize)
	}
	order := s.layOut(l)
	for _, i := range order {
		at, n := off, uint64(len(subs[i]))
		if subs[i] == nil {
			at, n = empty, empty
		} else {
			off += n
			size += int64(n)
		}
		binary.LittleEndian.PutUint64(index[16*i:], at)
		binary.LittleEndian.PutUint64(index[16*i+8:], n)
	}
	stored, err := s.index.encode(ctx, nil, index, append(append([]int64{}, l.per...), 2))
	if err != nil {
		return nil, err
	}
	if size+l.indexSize > maxAlloc {
		return nil, fault.New(fault.ErrLimit, "shard", "", "would have "+itoa(size+l.indexSize)+" bytes")
	}
	out := make([]byte, 0, size+l.indexSize)
	if s.atStart {
		out = append(out, stored...)
	}
	for _, i := range order {
		out = append(out, subs[i]...)
	}
	if !s.atStart {
		out = append(out, stored...)
	}
	return out, nil
}

// isFill reports whether every element of a block is the fill value, bit by
// bit.
func (e element) isFill(ar *arena, block []byte) bool {
	if !e.variable {
		for off := 0; off < len(block); off += len(e.fill) {
			if string(block[off:off+len(e.fill)]) != string(e.fill) {
				return false
			}
		}
		return true
	}
	fill := ar.at(e.fill)
	for off := 0; off < len(block); off += cellSize {
		if string(ar.at(block[off:])) != string(fill) {
			return false
		}
	}
	return true
}
