package blosc2

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Repair puts back the state that this handle last saw before another program
// wrote an old header over it, which a call of this handle found: what it
// consists of has to be in the file still, and nobody may have written since.
// The state is then the container's again, exactly. ErrNotFound if this handle
// found no such thing, ErrStale if the bytes do not allow it; see the function
// Repair for those who did not have the container open.
func (s *SChunk) Repair(ctx context.Context) error {
	return s.f.writing(ctx, func(g *grip) error { return s.f.repair(ctx, g) })
}

func (f *frame) repair(ctx context.Context, g *grip) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = f.reload(ctx, g) // which may be what finds it
	lost := f.lost
	if lost == nil {
		return fault.New(fault.ErrNotFound, "repair", "", "nothing was found to be written over")
	}
	info, err := f.view.file.Stat()
	if err != nil {
		return err
	}
	now := extent{f.view.Size, f.view.PackedSize, f.view.chunks}
	if lost.file != f.view.file || now != f.past[len(f.past)-1] || info.Size < lost.FrameLen || !f.intact(lost) {
		return fault.New(fault.ErrStale, "repair", "", "what the newer state consists of is not there any more")
	}
	if err := rewriteHeader(f.view.file.(storage.File), lost.raw, f.o.Durability); err != nil {
		return err
	}
	f.lost = nil
	_, err = f.reload(ctx, g)
	return err
}

func rewriteHeader(f storage.File, header []byte, d Durability) error {
	if _, err := f.WriteAt(header, 0); err != nil || d == SyncNever {
		return err
	}
	return f.Sync()
}

// Repaired is what the function Repair did.
type Repaired struct {
	// Chunks before, -1 if it could not be read, and now; of a zip, members.
	Was, Chunks int64
	Written     bool // there is another state now
}

// Repair looks through a contiguous frame for a state that its header does not
// lead to, and makes the newest one its state: an index of chunks, all of which
// are where it says, and a trailer. Such a state is left by a handle of
// python-blosc2 that wrote an old header after another one's append, and by a
// writer that was killed before it published. Whatever the container was in
// before, unless that could be read and is the newest, is lost.
//
// An array is repaired if its shape, which is in the header, has as many
// chunks. It takes the lock where Options ask for it. ErrNotFound if there is
// no such state in a container that cannot be read; ErrUnsupported for sparse
// frames and zips, which RepairBeside repairs.
func Repair(ctx context.Context, fs storage.FS, name string, o Options) (r Repaired, err error) {
	where, err := toRepair(ctx, fs, name)
	if err == nil && where.sparse {
		err = fault.New(fault.ErrUnsupported, "repair", name, "is a sparse frame, of which a copy is repaired")
	}
	if err != nil {
		return r, err
	}
	err = where.repairing(ctx, o, storage.OpenRead|storage.OpenWrite, func(f storage.File, o Options) error {
		var next []byte
		if r, next, err = search(ctx, &where, f, o); err != nil || next == nil {
			return err
		}
		return rewriteHeader(f, next, o.Durability)
	})
	return r, err
}

// toRepair is the file or sparse frame of that name.
func toRepair(ctx context.Context, fs storage.FS, name string) (place, error) {
	where := place{fs: fs, name: name, size: -1}
	info, err := fs.Stat(ctx, name)
	if err != nil || !info.Dir {
		return where, err
	}
	where.sparse = true
	_, err = fs.Stat(ctx, where.main())
	if errors.Is(err, fault.ErrNotFound) {
		err = fault.New(fault.ErrUnsupported, "repair", name, "is a directory without "+chunksFile)
	}
	return where, err
}

// repairing calls do with the file of a frame, or zip, while nobody else has its
// lock, if Options ask for that.
func (p *place) repairing(ctx context.Context, o Options, flags storage.OpenFlag, do func(f storage.File, o Options) error) error {
	o, err := o.checked()
	if err != nil {
		return err
	}
	return p.locked(ctx, o, func() error {
		f, err := p.fs.Open(ctx, p.main(), flags)
		if err != nil {
			return err
		}
		return first(do(f, o), f.Close())
	})
}

// search finds the newest state of a frame, and the header to lead to it; nil:
// there is one that does.
func search(ctx context.Context, where *place, f storage.File, o Options) (r Repaired, next []byte, err error) {
	size, err := where.extent(f)
	if err != nil {
		return r, nil, err
	}
	s := &scan{where: where, f: f, size: size, limits: o.Limits}
	r.Was = -1
	now, loadErr := load(ctx, where, f, o.Limits)
	if loadErr == nil {
		r.Was, r.Chunks, s.after = now.chunks, now.chunks, now.FrameLen
		if where.sparse { // of which a file has one state
			return r, nil, nil
		}
	}
	fixed, err := readAt(f, 0, min(size, endBytes))
	if err != nil {
		return r, nil, err
	}
	if s.Header, err = headerOf(fixed); err != nil {
		return r, nil, err
	}
	raw, err := readAt(f, 0, s.HeaderLen)
	if err != nil {
		return r, nil, err
	}
	if err := s.all(ctx); err != nil {
		return r, nil, err
	}
	if s.found == nil {
		if loadErr != nil {
			err = fault.New(fault.ErrNotFound, "repair", where.name, "there is no whole state in it: "+loadErr.Error())
		}
		return r, nil, err
	}
	next = bytes.Clone(raw)
	putHeader(next, *s.found)
	// What would be the state is read before it is.
	e := &ends{r: io.NewSectionReader(f, 0, size)}
	e.parts[0] = part{0, next}
	view, err := parse(ctx, where, f, e, size, o.Limits)
	if err == nil && view.shape != nil {
		if cells, _ := product(view.shape.grid()); cells != view.chunks {
			err = fault.New(fault.ErrStale, "repair", where.name, "the shape in the header is of another state")
		}
	}
	if err != nil {
		return r, nil, err
	}
	r.Chunks, r.Written = view.chunks, true
	return r, next, nil
}

// headerOf parses a header whose lengths may be wrong.
func headerOf(fixed []byte) (Header, error) {
	h, err := ParseHeader(fixed)
	if err == nil || len(fixed) < fixedLen {
		return h, err
	}
	// Sizes that cannot be are those of another state.
	b := bytes.Clone(fixed)
	binary.BigEndian.PutUint64(b[16:], 1<<62)
	binary.BigEndian.PutUint64(b[30:], 0)
	binary.BigEndian.PutUint64(b[39:], 0)
	return ParseHeader(b)
}

// scan looks for states in a file.
type scan struct {
	Header
	where  *place
	f      storage.File
	size   int64
	limits Limits
	after  int64 // where the state that can be read ends
	index  int64 // where the last index was that a trailer followed; 0: none
	found  *Header
}

var trailerBegins = []byte{0x94, 0x01, 0x93, 0xcd}

const scanned = 4 << 20 // bytes at a time

func (s *scan) all(ctx context.Context) error {
	buf := make([]byte, scanned+len(trailerBegins)-1)
	for at := s.HeaderLen; at < s.size; at += scanned {
		if err := storage.Ended(ctx, "repair"); err != nil {
			return err
		}
		b := buf[:min(int64(len(buf)), s.size-at)]
		if err := readFull(s.f, b, at); err != nil {
			return err
		}
		for i := 0; ; i++ {
			k := bytes.Index(b[i:], trailerBegins)
			if k < 0 {
				break
			}
			i += k
			s.trailer(ctx, at+int64(i))
		}
	}
	return nil
}

// trailer looks whether there is a trailer at t that ends a state.
func (s *scan) trailer(ctx context.Context, t int64) {
	b, err := readAt(s.f, t, min(s.size-t, s.limits.Meta, 1<<20))
	if err != nil {
		return
	}
	layers, err := ParseMetalayers(b, trailerBase, maxVLMetalayers)
	if err != nil {
		return
	}
	n := trailerBase + 7 + 3
	for _, m := range layers {
		n += 1 + len(m.Name) + 5 + 5 + len(m.Value)
	}
	if len(b)-n < trailerTail || b[n] != 0xce || int(binary.BigEndian.Uint32(b[n+1:])) != n+trailerTail || b[n+5] != 0xd8 {
		return
	}
	end := t + int64(n) + trailerTail
	at := s.indexBefore(t)
	if at == 0 {
		at = s.index // metadata alone were committed
	}
	if at == 0 {
		return
	}
	h := s.Header
	h.FrameLen, h.PackedSize, h.HasVLMeta = end, at-s.HeaderLen, len(layers) > 0
	if h.Sparse && h.PackedSize != 0 || !s.sound(ctx, &h, at) {
		return
	}
	s.index = at
	if end > s.after {
		s.found = &h
	}
}

const longestIndex = 8 << 20 // packed, in a search

// indexBefore returns where the index chunk begins that ends at t; 0: none.
func (s *scan) indexBefore(t int64) int64 {
	from := max(s.HeaderLen, t-longestIndex)
	b, err := readAt(s.f, from, t-from)
	if err != nil {
		return 0
	}
	for i := len(b) - blosc.HeaderSize; i >= 0; i-- {
		if int(binary.LittleEndian.Uint32(b[i+12:])) != len(b)-i || b[i+3] != 8 || binary.LittleEndian.Uint32(b[i+4:])%8 != 0 {
			continue
		}
		if _, err := newIndex(b[i:], -1, s.limits.Index); err == nil {
			return from + int64(i)
		}
	}
	return 0
}

// sound reports whether all chunks of an index are where it says, and sets the
// size of all of them.
func (s *scan) sound(ctx context.Context, h *Header, at int64) bool {
	packed, err := readChunk(s.f, at, s.size-at, s.limits.Index)
	if err != nil {
		return false
	}
	x, err := newIndex(packed, -1, s.limits.Index)
	if err != nil || x.count == 0 {
		return false
	}
	v := &view{Header: *h, file: s.f, where: s.where, index: x}
	var files, highest int64 // bytes of the chunk files of a sparse frame, and what the peer takes for such
	head := func(i int64) (c blosc.Header, stored bool, err error) {
		e, err := x.at(i)
		if err != nil || e.Special != blosc.NotSpecial {
			return c, false, err
		}
		d, err := v.at(ctx, e.At)
		if err != nil {
			return c, false, err
		}
		defer d.Close()
		_, c, err = readHead(d, 0, d.room, blosc.ExtendedHeaderSize)
		files, highest = files+int64(c.PackedSize), max(highest, e.At+blosc.ExtendedHeaderSize)
		return c, true, err
	}
	if h.ChunkSize < 0 { // of a handle that was opened before there were any
		for i := int64(0); i < x.count && h.ChunkSize < 0; i++ {
			c, stored, err := head(i)
			if err != nil {
				return false
			}
			if stored {
				h.ChunkSize = c.Size
			}
		}
	}
	h.Size, files = 0, 0
	for i := range x.count {
		c, stored, err := head(i)
		size := int64(h.ChunkSize)
		switch {
		case err != nil:
			return false
		case !stored && size <= 0:
			return false
		case stored && size > 0 && int64(c.Size) != size && (i < x.count-1 || int64(c.Size) > size):
			return false
		case stored:
			size = int64(c.Size)
		}
		h.Size += size
	}
	if h.Sparse {
		h.PackedSize = max(files, highest) // see draft.whole
	}
	return true
}
