package blosc2

import (
	"context"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Dead returns how many bytes of the frame nothing leads to: what commits left
// behind. It reads the header of every chunk. Errors are those of Chunk.
func (s *SChunk) Dead(ctx context.Context) (int64, error) {
	var dead int64
	err := s.f.read(ctx, func(v *view) (err error) {
		dead, err = v.dead(ctx)
		return err
	})
	return dead, err
}

func (v *view) dead(ctx context.Context) (int64, error) {
	if v.Sparse {
		return 0, nil
	}
	dead := v.FrameLen - v.HeaderLen - v.indexed - int64(len(v.tail))
	for i := range v.chunks {
		e, err := v.index.at(i)
		if err != nil {
			return 0, err
		}
		if e.value() < 0 {
			continue
		}
		h, err := v.chunkHeader(ctx, i)
		if err != nil {
			return 0, err
		}
		dead -= int64(h.PackedSize)
	}
	return max(dead, 0), nil
}

// Compact writes the frame anew without its dead bytes, chunks in their order,
// and puts it in the place of the old one in one step. Handles that have the
// old one open go on with it until they refresh. Sparse frames have no dead
// bytes. ErrReadOnly, ErrCorrupt, ErrClosed.
func (s *SChunk) Compact(ctx context.Context) error {
	f := s.f
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.view == nil:
		return fault.New(fault.ErrClosed, "blosc2", f.where.name, "")
	case !f.o.Write:
		return fault.New(fault.ErrReadOnly, "blosc2", f.where.name, "not open for writing")
	case f.where.sparse:
		return nil
	}
	if _, err := f.reload(ctx); err != nil {
		return err
	}
	d, err := f.draft()
	if err != nil {
		return err
	}
	err = replace(ctx, f.where.fs, f.where.name, f.o.Durability, false, func(to storage.File) error {
		return d.rewrite(ctx, to)
	})
	if err == nil {
		_, err = f.reload(ctx)
	}
	return f.named(err)
}

// rewrite writes the frame to an empty file.
func (d *draft) rewrite(ctx context.Context, to storage.File) error {
	v := d.f.view
	d.end = d.HeaderLen
	for i, e := range d.entries {
		if e < 0 {
			continue
		}
		b, err := v.encoded(ctx, int64(i), d.f.o.Limits)
		if err != nil {
			return err
		}
		if _, err := to.WriteAt(b, d.end); err != nil {
			return err
		}
		d.entries[i] = d.end - d.HeaderLen
		d.end += int64(len(b))
	}
	d.PackedSize = d.end - d.HeaderLen
	var tail []byte
	if d.Size > 0 {
		var err error
		if tail, err = encodeIndex(d.entries); err != nil {
			return err
		}
	}
	tail = append(tail, trailer(d.vlmeta)...)
	d.FrameLen = d.end + int64(len(tail))
	if _, err := to.WriteAt(tail, d.end); err != nil {
		return err
	}
	_, err := to.WriteAt(d.header(), 0)
	return err
}
