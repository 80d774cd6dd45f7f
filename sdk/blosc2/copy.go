package blosc2

import (
	"context"
	"slices"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Copy makes a copy of the array under another name, with all metadata, and
// opens it for writing: cut into other chunks and blocks where parts has them
// (the rest of it is of no concern), and packed otherwise where spec.Params is
// not zero. progress (nil: none) is called after each chunk. The copy appears
// when it is whole; a chunk or two are in memory at a time. Errors are those
// of CreateArray and Slice.
func (a *NDArray) Copy(ctx context.Context, fs storage.FS, name string, parts Shape, spec Spec, o Options, progress func(chunks, total int64)) (*NDArray, error) {
	v, err := a.s.f.state()
	if err != nil {
		return nil, err
	}
	shape := *v.shape
	cut := parts.Chunks != nil || parts.Blocks != nil || spec.ChunkBytes != 0 || spec.BlockBytes != 0
	if cut {
		shape.Chunks, shape.Blocks = parts.Chunks, parts.Blocks
	}
	v.like(&spec)
	c, err := createWith(ctx, fs, name, shape, spec, o, func(ctx context.Context, to *NDArray) error {
		err := to.Fill(ctx, func(ctx context.Context, start, stop []int64) ([]byte, error) {
			spans := make([]Span, len(start))
			for i := range start {
				spans[i] = Span{start[i], stop[i], 1}
			}
			return a.Slice(ctx, spans, nil)
		}, progress)
		if err != nil {
			return err
		}
		return to.s.takeVL(ctx, v)
	})
	return c, err
}

// Copy makes a copy of the frame under another name, with all metadata, and
// opens it for writing: in chunks of another size where spec says one, and
// packed otherwise where spec.Params is not zero. A frame whose chunks have
// blocks of any lengths is copied as it is. See NDArray.Copy.
func (s *SChunk) Copy(ctx context.Context, fs storage.FS, name string, spec Spec, o Options, progress func(chunks, total int64)) (*SChunk, error) {
	v, err := s.f.state()
	if err != nil {
		return nil, err
	}
	if v.shape != nil {
		return nil, fault.New(fault.ErrInvalid, "copy", "", "the frame is an array: copy that")
	}
	if v.VarBlocks {
		if spec.Sparse || v.Sparse {
			return nil, fault.New(fault.ErrUnsupported, "copy", "", "blocks of any lengths in a sparse frame")
		}
		if err := replaceable(ctx, fs, name, spec); err != nil {
			return nil, err
		}
		err := replace(ctx, fs, name, o.Durability, !spec.Replace, func(f storage.File) error { return s.copyTo(ctx, f) })
		if err != nil {
			return nil, err
		}
		o.Write, o.made = true, true
		c, err := Open(ctx, fs, name, o)
		if err != nil {
			return nil, err
		}
		return sequence(c), nil
	}
	v.like(&spec)
	spec.ChunkSize = int(or(int64(spec.ChunkSize), int64(max(v.ChunkSize, 0))))
	more := spec.Fill
	spec.Fill = func(ctx context.Context, c Container) error {
		to := sequence(c)
		err := to.fill(ctx, s, spec.ChunkSize, progress)
		if err == nil {
			err = to.takeVL(ctx, v)
		}
		if err == nil && more != nil {
			err = more(ctx, c)
		}
		return err
	}
	return CreateSChunk(ctx, fs, name, spec, o)
}

// sequence is the frame that a container is one of.
func sequence(c Container) *SChunk {
	switch c := c.(type) {
	case *NDArray:
		return c.s
	case *EmbedStore:
		return c.s
	case *SChunk:
		return c
	}
	return nil
}

// like sets what spec leaves open to what the frame has.
func (v *view) like(spec *Spec) {
	if p := &spec.Params; p.Codec == 0 && p.Level == 0 && p.Filters == nil {
		own := v.params()
		own.BlockSize = 0
		*p = own
	}
	spec.Params.TypeSize = v.TypeSize
	if kept, _ := v.summed(); kept {
		spec.Checksums = true
	}
	var meta []Metalayer
	for _, m := range v.meta {
		_, replaced := find(spec.Meta, m.Name)
		if m.Name != shapeLayer && m.Name != olderLayer && !replaced {
			meta = append(meta, m)
		}
	}
	spec.Meta = append(meta, spec.Meta...)
}

// takeVL takes over the variable-length metalayers of another frame.
func (s *SChunk) takeVL(ctx context.Context, v *view) error {
	if len(v.vlmeta) == 0 {
		return nil
	}
	return s.f.change(ctx, func(d *draft) error {
		layers := slices.DeleteFunc(slices.Clone(v.vlmeta), func(m Metalayer) bool { return m.Name == ChecksumLayer })
		for _, own := range d.vlmeta {
			if i := slices.IndexFunc(layers, func(m Metalayer) bool { return m.Name == own.Name }); i >= 0 {
				layers[i] = own
			} else {
				layers = append(layers, own)
			}
		}
		d.vlmeta = layers
		return nil
	})
}

// fill appends all bytes of another frame: chunk by chunk, or in chunks of
// size bytes where that is another size than from has.
func (s *SChunk) fill(ctx context.Context, from *SChunk, size int, progress func(chunks, total int64)) error {
	return s.f.change(ctx, func(d *draft) error {
		var kept []byte // what does not fill a chunk yet
		total, done := from.NumChunks(), int64(0)
		recut := size > 0 && size != from.Header().ChunkSize
		for chunk, err := range from.Chunks(ctx) {
			if err != nil {
				return err
			}
			if recut {
				kept = append(kept, chunk...)
				for len(kept) >= size {
					if err := d.insert(ctx, len(d.entries), kept[:size]); err != nil {
						return err
					}
					kept = append(kept[:0], kept[size:]...)
				}
			} else if err := d.insert(ctx, len(d.entries), chunk); err != nil {
				return err
			}
			if done++; progress != nil {
				progress(done, total)
			}
		}
		if len(kept) == 0 {
			return nil
		}
		return d.insert(ctx, len(d.entries), kept)
	})
}
