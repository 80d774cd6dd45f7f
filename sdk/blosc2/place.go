package blosc2

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// place is where a frame is: a file, a part of a file, or a directory. Names
// are opened again when asked to, because writers replace files.
type place struct {
	fs     storage.FS // nil: only file is there
	file   source     // not the frame's to close; nil: opened by name
	name   string     // of the file or directory
	off    int64      // of the frame in the file
	size   int64      // of the part of the file that is the frame's; -1: all after off
	sparse bool
	mapped bool // see Options.Map
	pinned bool // it is only read as it was when it was opened

	// Of a frame that is a file of a store: the store's lock, the hold that has
	// it, and that the frame stays the file it was, whatever takes its name.
	lock *sidecar
	hold *hold
	kept bool
}

// The files of a sparse frame.
const (
	chunksFile  = "chunks.b2frame" // all but the chunks
	chunkSuffix = ".chunk"         // of a chunk
)

// object reports whether the frame is all of an object of a store, which may be
// another one next time.
func (p *place) object() bool { return p.file != nil && p.size < 0 && !p.pinned }

func (p *place) main() string {
	if p.sparse {
		return join(p.name, chunksFile)
	}
	return p.name
}

// source is what is read of a file.
type source interface {
	io.ReaderAt
	io.Closer
	Stat() (storage.FileInfo, error)
}

// open opens the file that the header is in.
func (p *place) open(ctx context.Context, write bool) (source, error) {
	flags := storage.OpenRead
	switch {
	case p.file != nil && write:
		return nil, fault.New(fault.ErrReadOnly, "blosc2", p.name, "a part of a container, or a file without a name, is only read")
	case p.file != nil:
		return keep{p.file}, nil
	case write:
		flags |= storage.OpenWrite
	}
	f, err := p.fs.Open(ctx, p.main(), flags)
	if err != nil || !p.mapped {
		return f, err
	}
	return mapFile(f, p.main())
}

// moved reports whether the name leads to another file by now than the one
// that is open. A name that leads nowhere has not: what is open goes on.
func (p *place) moved(ctx context.Context, open storage.FileInfo) (bool, error) {
	if p.file != nil || p.pinned || p.kept {
		return false, nil
	}
	named, err := p.fs.Stat(ctx, p.main())
	if errors.Is(err, fault.ErrNotFound) {
		return false, nil
	}
	return err == nil && named.Ino != 0 && (named.Dev != open.Dev || named.Ino != open.Ino), err
}

// extent is how many bytes the frame can have.
func (p *place) extent(f source) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	rest := info.Size - p.off
	if p.size >= 0 {
		rest = min(rest, p.size)
	}
	return max(rest, 0), nil
}

// keep is a file that its opener closes.
type keep struct{ source }

func (keep) Close() error { return nil }

// join makes a name below a directory.
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}

// chunkName is the file of a sparse chunk.
func chunkName(number int64) string {
	digits := strings.ToUpper(strconv.FormatInt(number, 16))
	return strings.Repeat("0", max(8-len(digits), 0)) + digits + chunkSuffix
}

// readAt reads n bytes at off. That there are fewer is ErrCorrupt: some
// header says that they are there.
func readAt(r io.ReaderAt, off, n int64) ([]byte, error) {
	b := make([]byte, n)
	return b, readFull(r, b, off)
}

func readFull(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return corrupt(off+int64(n), "ends early")
	}
	return err
}

// ends is a reader that fetches the first and the last bytes of a range at
// once, so that opening a frame takes two requests where each is dear.
type ends struct {
	r     io.ReaderAt
	parts [2]part
	index *index        // what the bytes decode to that the second part begins with; nil: not known
	first *blosc.Header // of chunk 0, likewise
}

type part struct {
	off int64
	b   []byte
}

const endBytes = 4096

// fetch keeps [off, off+n).
func (e *ends) fetch(which int, off, n int64) error {
	b, err := readAt(e.r, off, n)
	e.parts[which] = part{off, b}
	return err
}

// ReadAt is io.ReaderAt's.
func (e *ends) ReadAt(b []byte, off int64) (int, error) {
	for _, p := range e.parts {
		if off >= p.off && off+int64(len(b)) <= p.off+int64(len(p.b)) {
			return copy(b, p.b[off-p.off:]), nil
		}
	}
	return e.r.ReadAt(b, off)
}
