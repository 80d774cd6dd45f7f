package blosc2

import (
	"context"
	"errors"

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
// old one open go on with it until their next call. Sparse frames have no dead
// bytes. ErrReadOnly, ErrCorrupt, ErrClosed, and the errors of locking.
//
// It waits until this process has closed its snapshots of the frame; those of
// other processes go on with the old file, which is gone when they are closed.
func (s *SChunk) Compact(ctx context.Context) error {
	if _, err := s.f.state(); err != nil || s.f.where.sparse {
		return err
	}
	if err := pins.wait(ctx, &s.f.where); err != nil {
		return err
	}
	return s.f.renew(ctx, func(*draft) error { return nil })
}

// tidy compacts a frame of which more than a hundredth is dead. What a new one
// was while it was empty is, and weighs in a small one.
func (s *SChunk) tidy(ctx context.Context) error {
	var dead, most int64
	err := s.f.read(ctx, func(v *view) (err error) {
		most = v.FrameLen / 100
		dead, err = v.dead(ctx)
		return err
	})
	if err != nil || dead <= most {
		return err
	}
	return s.Compact(ctx)
}

// renew writes the frame anew, with what change makes of it, and puts it in
// the place of the old one in one step. change must leave chunks alone.
func (f *frame) renew(ctx context.Context, change func(d *draft) error) error {
	return f.writing(ctx, func(g *grip) error { return f.renewing(ctx, g, change) })
}

func (f *frame) renewing(ctx context.Context, g *grip, change func(d *draft) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, end, err := f.alone(ctx, g)
	if err != nil {
		return err
	}
	defer end()
	if err := change(d); err != nil {
		return err
	}
	err = replace(ctx, f.where.fs, f.where.main(), f.o.Durability, false, func(to storage.File) error {
		if !d.Sparse {
			return d.rewrite(ctx, to)
		}
		if err := d.checksum(ctx); err != nil {
			return err
		}
		b, err := d.whole()
		if err == nil {
			_, err = to.WriteAt(b, 0)
		}
		return err
	})
	if err != nil {
		return f.unsure(err)
	}
	// Not by reload, to which other axes are another array.
	file, err := f.where.open(ctx, true)
	if err != nil {
		return f.unsure(err)
	}
	if err = f.look(file, g); err == nil {
		var next *view
		if next, err = load(ctx, &f.where, file, f.o.Limits); err == nil {
			old := f.view.file
			f.view, f.safe = next, file
			f.past.add(next)
			f.head.over(ctx, &f.where, file)
			f.tick++
			return old.Close()
		}
	}
	return f.unsure(errors.Join(err, file.Close()))
}

// rewrite writes the frame to an empty file.
func (d *draft) rewrite(ctx context.Context, to storage.File) error {
	v := d.f.view
	head := d.header()
	if head == nil { // of another length
		head = newHeader(d.Header, d.meta)
		d.HeaderLen = int64(len(head))
	}
	known, err := v.checksums(d.f.o)
	if err != nil {
		return err
	}
	d.end, d.noted = d.HeaderLen, nil
	for i, e := range d.entries {
		if e < 0 {
			continue
		}
		b, err := v.encoded(ctx, int64(i), d.f.o.Limits)
		if err != nil {
			return err
		}
		if err := known.matches(e, b); err != nil { // or it would be right from now on
			return chunkError(int64(i), err)
		}
		if _, err := to.WriteAt(b, d.end); err != nil {
			return err
		}
		d.entries[i] = d.end - d.HeaderLen
		d.note(d.entries[i], b)
		d.end += int64(len(b))
	}
	d.PackedSize = d.end - d.HeaderLen
	if err := d.checksum(ctx); err != nil {
		return err
	}
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
	putHeader(head, d.Header)
	_, err = to.WriteAt(head, 0)
	return err
}
