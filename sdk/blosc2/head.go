package blosc2

import (
	"bytes"
	"context"
	"hash/crc32"
	"io"
	"sync"

	"github.com/gridhold/gridhold/sdk/storage"
)

// head is how the header of a frame is looked at before each use, and parts of
// its chunks are read: through a mapping of its file as it was when it was
// opened where there are any, which costs no system call, and by reading
// otherwise. Mappings of network file systems do not show what others
// write. It is guarded by the lock of the frame.
type head struct {
	of   source // the file that is mapped; nil: none
	m    storage.Mapping
	size int64 // of the file then
}

// over maps a file in the place of the one before.
func (h *head) over(ctx context.Context, where *place, f source) {
	h.close()
	p, ok := f.(storage.Mapper)
	if !ok || where.fs == nil || where.pinned || where.mapped {
		return
	}
	if info, err := where.fs.StatFS(ctx, where.main()); err != nil || info.Network || info.Kind == "" {
		return
	}
	info, err := f.Stat()
	if err != nil {
		return
	}
	if m, err := p.Map(); err == nil {
		h.of, h.m, h.size = f, m, info.Size
	}
}

// reader is what to read the bytes of a file before end from.
func (h *head) reader(f source, end int64) io.ReaderAt {
	if h.of != nil && h.of == f && end <= h.size {
		return h.m
	}
	return f
}

func (h *head) close() {
	if h.of != nil {
		h.m.Close()
	}
	*h = head{}
}

// window is where the bytes of a stored chunk of v are in the mapping; ok is
// false where they are not.
func (h *head) window(v *view, at, room int64) (m viewer, from, to int64, ok bool) {
	if h == nil || h.of == nil || h.of != v.file {
		return nil, 0, 0, false
	}
	m, ok = h.m.(viewer)
	from = v.where.off + v.HeaderLen + at
	to = from + room
	return m, from, min(to, h.size), ok && from < h.size
}

// pieces are for what is read to be compared.
var pieces = sync.Pool{New: func() any { return new([endBytes]byte) }}

// inPieces gives do n bytes of r from off on, a piece at a time, and reports
// whether all could be read and do found nothing wrong with any.
func inPieces(r io.ReaderAt, off, n int64, do func(piece []byte, at int64) bool) bool {
	buf := pieces.Get().(*[endBytes]byte)
	defer pieces.Put(buf)
	for at := int64(0); at < n; {
		piece := buf[:min(n-at, endBytes)]
		if k, _ := r.ReadAt(piece, off+at); k < len(piece) || !do(piece, at) {
			return false
		}
		at += int64(len(piece))
	}
	return true
}

// holds reports whether r has the bytes of want at off.
func holds(r io.ReaderAt, off int64, want []byte) bool {
	return inPieces(r, off, int64(len(want)), func(piece []byte, at int64) bool {
		return bytes.Equal(piece, want[at:at+int64(len(piece))])
	})
}

// headed reports whether the header in the file is that of the view.
func (f *frame) headed(v *view) bool {
	return holds(f.head.reader(v.file, v.where.off+int64(len(v.raw))), v.where.off, v.raw)
}

// intact reports whether index and trailer in the file are those of the view.
// Writers of ours never touch them; those of the C library write over them
// with whatever they do but replace a chunk by one of the same size.
func (f *frame) intact(v *view) bool {
	tail := v.where.off + v.trailerAt()
	end := tail + int64(len(v.tail))
	if !holds(f.head.reader(v.file, end), tail, v.tail) {
		return false
	}
	if v.indexed == 0 {
		return true
	}
	sum, index := uint32(0), v.where.off+v.HeaderLen+v.dataLen()
	return inPieces(f.head.reader(v.file, index+v.indexed), index, v.indexed, func(piece []byte, _ int64) bool {
		sum = crc32.Update(sum, castagnoli, piece)
		return true
	}) && sum == v.packed
}
