package blosc2

import (
	"bytes"
	"context"
	"encoding/binary"
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
	Was, Chunks int64 // chunks before, -1 if it could not be read, and now
	Written     bool  // the header was
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
// frames and zips.
func Repair(ctx context.Context, fs storage.FS, name string, o Options) (r Repaired, err error) {
	o, err = o.checked()
	if err != nil {
		return r, err
	}
	info, err := fs.Stat(ctx, name)
	if err != nil {
		return r, err
	}
	if info.Dir {
		return r, fault.New(fault.ErrUnsupported, "repair", name, "is a directory")
	}
	where := place{fs: fs, name: name, size: -1}
	err = where.locked(ctx, o, func() error {
		f, err := fs.Open(ctx, name, storage.OpenRead|storage.OpenWrite)
		if err != nil {
			return err
		}
		r, err = search(ctx, &where, f, o, true)
		return first(err, f.Close())
	})
	return r, err
}

// search finds the newest state of a frame, and publishes it if it is to be
// written.
func search(ctx context.Context, where *place, f storage.File, o Options, write bool) (r Repaired, err error) {
	size, err := where.extent(f)
	if err != nil {
		return r, err
	}
	s := &scan{f: f, size: size, limits: o.Limits}
	r.Was = -1
	now, loadErr := load(ctx, where, f, o.Limits)
	if loadErr == nil {
		r.Was, r.Chunks, s.after = now.chunks, now.chunks, now.FrameLen
	}
	fixed, err := readAt(f, 0, min(size, endBytes))
	if err != nil {
		return r, err
	}
	if s.Header, err = headerOf(fixed); err != nil {
		return r, err
	}
	raw, err := readAt(f, 0, s.HeaderLen)
	if err != nil {
		return r, err
	}
	if err := s.all(ctx); err != nil {
		return r, err
	}
	if s.found == nil {
		if loadErr != nil {
			return r, fault.New(fault.ErrNotFound, "repair", where.name, "there is no whole state in it: "+loadErr.Error())
		}
		return r, nil
	}
	next := bytes.Clone(raw)
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
		return r, err
	}
	r.Chunks, r.Written = view.chunks, true
	if !write {
		return r, nil
	}
	return r, rewriteHeader(f, next, o.Durability)
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
			s.trailer(at + int64(i))
		}
	}
	return nil
}

// trailer looks whether there is a trailer at t that ends a state.
func (s *scan) trailer(t int64) {
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
	if !s.sound(&h, at) {
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
func (s *scan) sound(h *Header, at int64) bool {
	packed, err := readChunk(s.f, at, s.size-at, s.limits.Index)
	if err != nil {
		return false
	}
	x, err := newIndex(packed, -1, s.limits.Index)
	if err != nil || x.count == 0 {
		return false
	}
	h.Size = 0
	if h.ChunkSize < 0 { // of a handle that was opened before there were any
		for i := int64(0); i < x.count && h.ChunkSize < 0; i++ {
			e, err := x.at(i)
			if err != nil {
				return false
			}
			if e.Special != blosc.NotSpecial {
				continue
			}
			_, c, err := readHead(s.f, s.HeaderLen+e.At, s.size-s.HeaderLen-e.At, blosc.ExtendedHeaderSize)
			if err != nil {
				return false
			}
			h.ChunkSize = c.Size
		}
	}
	for i := range x.count {
		e, err := x.at(i)
		if err != nil {
			return false
		}
		size := int64(h.ChunkSize)
		if e.Special == blosc.NotSpecial {
			off := s.HeaderLen + e.At
			if e.At > at-s.HeaderLen-blosc.HeaderSize {
				return false
			}
			_, c, err := readHead(s.f, off, at-off, blosc.ExtendedHeaderSize)
			if err != nil || h.ChunkSize > 0 && int64(c.Size) != size && (i < x.count-1 || int64(c.Size) > size) {
				return false
			}
			size = int64(c.Size)
		} else if h.ChunkSize <= 0 {
			return false
		}
		h.Size += size
	}
	return true
}
