package blosc2

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/gridhold/gridhold/sdk/storage"
)

// head is how the header of a frame is looked at before each use: through a
// mapping of its file where there are any, which costs no system call, and by
// reading otherwise. Mappings of network file systems do not show what others
// write. It is guarded by the lock of the frame.
type head struct {
	of source // the file that is mapped; nil: none
	m  storage.Mapping
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
	if m, err := p.Map(); err == nil {
		h.of, h.m = f, m
	}
}

// reader is what to read the header of a file from.
func (h *head) reader(f source) io.ReaderAt {
	if h.of != nil && h.of == f {
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

var headers = sync.Pool{New: func() any { return new([endBytes]byte) }}

// headed reports whether the header that r reads is that of the view.
func (v *view) headed(r io.ReaderAt) bool {
	if len(v.raw) > endBytes {
		b, err := readAt(r, v.where.off, int64(len(v.raw)))
		return err == nil && bytes.Equal(b, v.raw)
	}
	buf := headers.Get().(*[endBytes]byte)
	defer headers.Put(buf)
	n, _ := r.ReadAt(buf[:len(v.raw)], v.where.off)
	return n == len(v.raw) && bytes.Equal(buf[:n], v.raw)
}
