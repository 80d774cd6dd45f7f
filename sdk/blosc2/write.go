package blosc2

import (
	"context"
	"slices"
	"strconv"

	"github.com/gridhold/gridhold/sdk/blosc2/msgpack"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
)

// All that writes is one commit a call: readers and the next to open the
// frame find all of it or nothing. Nothing that the state before reaches is
// overwritten; what it leaves behind is dead until Compact. ErrReadOnly unless
// the frame was opened with Options.Write.

// AppendChunk adds a chunk that holds data after the last one. A chunk of
// another size than those before, unless it is shorter and the last, makes
// the frame one of varying chunks; that of an array is refused with
// ErrInvalid.
func (s *SChunk) AppendChunk(ctx context.Context, data []byte) error {
	return s.f.change(ctx, func(d *draft) error { return d.insert(ctx, len(d.entries), data) })
}

// InsertChunk puts a chunk before chunk i; see AppendChunk. ErrOutOfRange.
func (s *SChunk) InsertChunk(ctx context.Context, i int64, data []byte) error {
	return s.f.change(ctx, func(d *draft) error {
		if i < 0 || i > int64(len(d.entries)) {
			return outOfRange("chunk", i, i, int64(len(d.entries)))
		}
		return d.insert(ctx, int(i), data)
	})
}

// UpdateChunk replaces chunk i. Where chunks are of one size it must keep its
// own: ErrInvalid. ErrOutOfRange.
func (s *SChunk) UpdateChunk(ctx context.Context, i int64, data []byte) error {
	return s.f.change(ctx, func(d *draft) error {
		size, err := d.sizeOf(ctx, i)
		if err != nil {
			return err
		}
		if d.ChunkSize > 0 && size != int64(len(data)) {
			return wrongSize(len(data), size)
		}
		d.Size += int64(len(data)) - size
		return d.update(ctx, int(i), data)
	})
}

// DeleteChunk removes chunk i. ErrOutOfRange; ErrInvalid for an array.
func (s *SChunk) DeleteChunk(ctx context.Context, i int64) error {
	return s.f.change(ctx, func(d *draft) error {
		size, err := d.sizeOf(ctx, i)
		if err == nil {
			err = d.noArray()
		}
		if err == nil {
			err = d.drop(ctx, int(i))
		}
		if err != nil {
			return err
		}
		d.entries = slices.Delete(d.entries, int(i), int(i)+1)
		d.Size -= size
		return nil
	})
}

// Append adds bytes, whole items, after the last item: the last chunk is
// filled up, then come new ones. ErrInvalid for an array, for a frame of
// varying chunks or of no chunk size yet, and for a part of an item.
func (s *SChunk) Append(ctx context.Context, items []byte) error {
	return s.f.change(ctx, func(d *draft) error {
		if err := d.noArray(); err != nil {
			return err
		}
		return d.append(ctx, items)
	})
}

// append fills up the last chunk, then adds others.
func (d *draft) append(ctx context.Context, items []byte) error {
	if d.ChunkSize <= 0 || len(items)%d.TypeSize != 0 {
		return wrongSize(len(items), int64(d.TypeSize))
	}
	if short := d.Size % int64(d.ChunkSize); short > 0 && len(items) > 0 {
		last := len(d.entries) - 1
		chunk, err := d.f.view.decoded(ctx, int64(last), nil, d.f.o)
		if err != nil {
			return err
		}
		n := min(len(items), d.ChunkSize-len(chunk))
		d.Size += int64(n)
		if err := d.update(ctx, last, append(chunk, items[:n]...)); err != nil {
			return err
		}
		items = items[n:]
	}
	for len(items) > 0 {
		n := min(len(items), d.ChunkSize)
		if err := d.insert(ctx, len(d.entries), items[:n]); err != nil {
			return err
		}
		items = items[n:]
	}
	return nil
}

// SetSlice replaces the items from start on with items. ErrOutOfRange if there
// are fewer; ErrInvalid for a part of an item.
func (s *SChunk) SetSlice(ctx context.Context, start int64, items []byte) error {
	return s.f.change(ctx, func(d *draft) error {
		off, size := start*int64(d.TypeSize), int64(d.TypeSize)
		if int64(len(items))%size != 0 {
			return wrongSize(len(items), size)
		}
		if start < 0 || start > d.Size/size || int64(len(items)) > d.Size-off {
			return outOfRange("item", start, start+int64(len(items))/size, d.Size/size)
		}
		for len(items) > 0 {
			i, err := d.f.view.chunkAt(ctx, off)
			if err != nil {
				return err
			}
			from, to, err := d.f.view.bounds(ctx, i)
			if err != nil {
				return err
			}
			n := min(to-off, int64(len(items)))
			chunk := items[:n]
			if n < to-from {
				if chunk, err = d.f.view.decoded(ctx, i, nil, d.f.o); err != nil {
					return err
				}
				copy(chunk[off-from:], items[:n])
			}
			if err := d.update(ctx, int(i), chunk); err != nil {
				return err
			}
			items, off = items[n:], off+n
		}
		return nil
	})
}

// AppendSpecial adds count items that are all alike after the last one: zero,
// NaN, anything, or (Repeated) value, in chunks that are not stored. The last
// chunk must be full: ErrInvalid.
func (s *SChunk) AppendSpecial(ctx context.Context, kind blosc.Special, count int64, value []byte) error {
	return s.f.change(ctx, func(d *draft) error {
		if err := d.noArray(); err != nil {
			return err
		}
		size := int64(d.TypeSize)
		if d.ChunkSize <= 0 || d.ChunkSize%d.TypeSize != 0 || d.Size%int64(d.ChunkSize) != 0 || count < 0 || count > (maxChunks-int64(len(d.entries)))*int64(d.ChunkSize)/size {
			return wrongSize(d.ChunkSize, size)
		}
		for left := count * size; left > 0; {
			n := min(left, int64(d.ChunkSize))
			b, err := blosc.EncodeSpecial(nil, kind, int(n), value, d.params())
			if err != nil {
				return err
			}
			e := Entry{Special: kind}.value()
			if kind == blosc.Repeated {
				e, err = d.add(ctx, b)
			}
			if err != nil {
				return err
			}
			d.entries, d.indexed = append(d.entries, e), true
			d.Size += n
			left -= n
		}
		return nil
	})
}

// SetVLValue sets a variable-length metalayer, a new one after the others.
// python-blosc2 expects MessagePack: see SetVLObject. ErrInvalid for names of
// no or more than 31 bytes, ErrLimit for too many.
func (s *SChunk) SetVLValue(ctx context.Context, name string, value []byte) error {
	if name == ChecksumLayer {
		return fault.New(fault.ErrInvalid, "vlmeta", name, "is kept by KeepChecksums")
	}
	return s.f.change(ctx, func(d *draft) error { return d.setVL(name, value) })
}

func (d *draft) setVL(name string, value []byte) error {
	if name == "" || len(name) > maxName {
		return fault.New(fault.ErrInvalid, "vlmeta", name, "a name has 1 to 31 bytes")
	}
	packed, err := blosc.Encode(nil, value, blosc.Params{
		Codec: blosc.Zstd, Level: 5, TypeSize: 1, Filters: []blosc.Filter{5: {ID: blosc.Shuffle}},
	})
	if err != nil {
		return err
	}
	d.vlmeta = slices.Clone(d.vlmeta)
	i := slices.IndexFunc(d.vlmeta, func(m Metalayer) bool { return m.Name == name })
	if i < 0 {
		if i = len(d.vlmeta); i == maxVLMetalayers {
			return overLimit("more than 8192 variable-length metalayers")
		}
		d.vlmeta = append(d.vlmeta, Metalayer{Name: name})
	}
	d.vlmeta[i].Value = packed
	return nil
}

// SetVLObject is SetVLValue of an object as package msgpack has them.
func (s *SChunk) SetVLObject(ctx context.Context, name string, object any) error {
	b, err := msgpack.Append(nil, object)
	if err != nil {
		return err
	}
	return s.SetVLValue(ctx, name, b)
}

// DeleteVL removes a variable-length metalayer: ErrNotFound.
func (s *SChunk) DeleteVL(ctx context.Context, name string) error {
	return s.f.change(ctx, func(d *draft) error {
		i := slices.IndexFunc(d.vlmeta, func(m Metalayer) bool { return m.Name == name })
		if i < 0 {
			return fault.New(fault.ErrNotFound, "vlmeta", name, "")
		}
		d.vlmeta = slices.Delete(slices.Clone(d.vlmeta), i, i+1)
		return nil
	})
}

// SetMetalayer replaces the value of a metalayer by one of the same length;
// while there are no chunks, of any, and it may be a new one. ErrInvalid.
func (s *SChunk) SetMetalayer(ctx context.Context, name string, value []byte) error {
	return s.f.change(ctx, func(d *draft) error { return d.setMeta(name, value) })
}

func (d *draft) setMeta(name string, value []byte) error {
	d.meta = slices.Clone(d.meta)
	i := slices.IndexFunc(d.meta, func(m Metalayer) bool { return m.Name == name })
	if i < 0 {
		if i = len(d.meta); i == maxMetalayers || name == "" || len(name) > maxName {
			return fault.New(fault.ErrInvalid, "metalayer", name, "16 of names of 1 to 31 bytes")
		}
		d.meta = append(d.meta, Metalayer{Name: name})
	}
	d.meta[i].Value = value
	return nil
}

// sizeOf is how many bytes chunk i holds.
func (d *draft) sizeOf(ctx context.Context, i int64) (int64, error) {
	if err := d.f.view.within(i); err != nil {
		return 0, err
	}
	from, to, err := d.f.view.bounds(ctx, i)
	return to - from, err
}

// insert puts a chunk before chunk i, which there need not be.
func (d *draft) insert(ctx context.Context, i int, data []byte) error {
	if err := d.noArray(); err != nil {
		return err
	}
	if len(data) == 0 || len(d.entries) >= maxChunks {
		return wrongSize(len(data), int64(d.ChunkSize))
	}
	if d.ChunkSize < 0 {
		d.ChunkSize = len(data)
	}
	size := int64(d.ChunkSize)
	fits := int64(len(data)) == size || i == len(d.entries) && int64(len(data)) < size
	if size > 0 && (!fits || i == len(d.entries) && d.Size%size != 0) {
		if err := d.vary(ctx); err != nil {
			return err
		}
	}
	e, err := d.encode(ctx, data)
	d.entries = slices.Insert(d.entries, i, e)
	d.Size += int64(len(data))
	return err
}

// vary makes the frame one of varying chunks. Those that the index alone says
// something of get bytes: what it says has no size then.
func (d *draft) vary(ctx context.Context) error {
	size := int64(d.ChunkSize)
	d.ChunkSize, d.Varying, d.Version = 0, true, 3
	for i, e := range d.entries {
		if e >= 0 {
			continue
		}
		entry, err := ParseEntry(e)
		if err != nil {
			return err
		}
		n := min(size, d.Size-int64(i)*size)
		p := blosc.Params{TypeSize: d.TypeSize}
		b, err := blosc.EncodeSpecial(nil, entry.Special, int(n), nil, p)
		if err != nil {
			return err
		}
		if d.entries[i], err = d.add(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// update replaces chunk i.
func (d *draft) update(ctx context.Context, i int, data []byte) error {
	if err := d.drop(ctx, i); err != nil {
		return err
	}
	var err error
	d.entries[i], err = d.encode(ctx, data)
	return err
}

// noArray refuses what would leave an array without its grid.
func (d *draft) noArray() error {
	if d.f.view.shape != nil {
		return fault.New(fault.ErrInvalid, "blosc2", d.f.where.name, "the chunks of an array are its grid: resize it")
	}
	return nil
}

func wrongSize(have int, want int64) error {
	return fault.New(fault.ErrInvalid, "chunk", "", strconv.Itoa(have)+" bytes do not fit: "+strconv.FormatInt(want, 10))
}
