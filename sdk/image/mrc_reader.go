package image

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// MRCOptions says how an MRC file is read. The zero value is the advice.
type MRCOptions struct {
	Bytes ByteSign // of mode 0
	// AllowPartial opens files that are shorter than their header says, which
	// those are that a program is still writing. What there is of them can be
	// read; the rest is ErrCorrupt until it is there.
	AllowPartial bool
	// Strict refuses files whose header needs indulgence: all that Warnings
	// tells of, but for bytes behind the data.
	Strict bool
}

// MRC is an open MRC file. Safe for concurrent use until Close.
type MRC struct {
	header *MRCHeader
	desc   Description
	name   string
	src    source

	off     int64 // of the first pixel
	section int64 // bytes of an image as it is stored
}

// OpenMRC reads the header of a file and takes the file over: it is closed
// with the reader, or at once if that fails. name, the name of the file,
// stands in errors; see ParseMRCHeader for what else it matters for.
//
// ErrCorrupt and ErrUnsupported as ParseMRCHeader, and ErrCorrupt for a file
// that is shorter than its header says.
func OpenMRC(ctx context.Context, f storage.File, name string, o MRCOptions) (*MRC, error) {
	return openMRC(ctx, fileSource{f, name}, name, o)
}

func openMRC(ctx context.Context, src source, name string, o MRCOptions) (*MRC, error) {
	m := &MRC{name: name, src: src}
	if err := m.open(ctx, o); err != nil {
		return nil, errors.Join(err, src.close())
	}
	return m, nil
}

func (m *MRC) open(ctx context.Context, o MRCOptions) error {
	head := make([]byte, mrcHeaderSize)
	n, size, err := m.src.readAt(ctx, head, 0)
	if err != nil {
		return err
	}
	if m.header, err = ParseMRCHeader(head[:n], size, m.name); err != nil {
		return err
	}
	if w := m.header.Warnings; o.Strict && len(w) > 0 {
		return fault.New(fault.ErrCorrupt, "mrc", m.name, "bad header: "+w[0])
	}
	m.desc = m.header.Describe(m.name, o.Bytes)
	var data int64
	m.off, data = m.header.Data()
	if size < m.off+data && !o.AllowPartial {
		return m.short(size)
	}
	if size > m.off+data {
		m.header.warn(strconv.FormatInt(size-m.off-data, 10) + " bytes follow the data")
	}
	if m.desc.Count > 0 {
		m.section = data / m.desc.Count
	}
	return nil
}

// short says that the file ends at size bytes, before its data do.
func (m *MRC) short(size int64) error {
	off, data := m.header.Data()
	return fault.At(fault.ErrCorrupt, "mrc", m.name, size,
		"truncated data: the header says "+strconv.FormatInt(off+data, 10)+" bytes, there are "+strconv.FormatInt(size, 10))
}

// Describe is Reader's.
func (m *MRC) Describe() Description { return m.desc }

// Header returns what the header says. It is the reader's.
func (m *MRC) Header() *MRCHeader { return m.header }

// ExtendedHeader returns the extended header as it is stored; nil if there is
// none. Only its type says what it means. ErrLimit for more than 64 MiB.
func (m *MRC) ExtendedHeader(ctx context.Context) ([]byte, error) {
	n := m.header.Extended
	if n == 0 {
		return nil, nil
	}
	if n > 64<<20 {
		return nil, fault.New(fault.ErrLimit, "mrc", m.name, "an extended header of "+strconv.Itoa(int(n))+" bytes")
	}
	b := make([]byte, n)
	return b, m.read(ctx, b, mrcHeaderSize)
}

// Close closes the file. Closing twice is fine.
func (m *MRC) Close() error { return m.src.close() }

// ReadImages is Reader's.
func (m *MRC) ReadImages(ctx context.Context, dst []byte, first int64) error {
	n, err := imagesIn(m.desc, m.name, dst, first)
	if err != nil || n == 0 {
		return err
	}
	off := m.off + first*m.section
	if m.header.Mode == 101 {
		return m.readNibbles(ctx, dst, off)
	}
	if err := m.read(ctx, dst, off); err != nil {
		return err
	}
	if m.header.BigEndian {
		swapBytes(dst, types[m.desc.Type].number)
	}
	return nil
}

// imagesIn returns how many images dst takes: ErrInvalid if that is no whole
// number, ErrOutOfRange if there are not that many from first on.
func imagesIn(d Description, name string, dst []byte, first int64) (n int64, err error) {
	if size := d.ImageBytes(); size > 0 {
		n = int64(len(dst)) / size
		if n*size != int64(len(dst)) {
			return 0, fault.New(fault.ErrInvalid, "image", name, "room for a part of an image of "+strconv.FormatInt(size, 10)+" bytes")
		}
	}
	if first < 0 || first > d.Count || n > d.Count-first {
		return 0, fault.New(fault.ErrOutOfRange, "image", ImageLocation{name, max(first, 0)}.String(), "the file has "+images(d.Count))
	}
	return n, nil
}

// read fills dst with the bytes at off, all of them.
func (m *MRC) read(ctx context.Context, dst []byte, off int64) error {
	n, size, err := m.src.readAt(ctx, dst, off)
	if err == nil && n < len(dst) {
		err = m.short(size)
	}
	return err
}

// readNibbles reads rows of 4-bit pixels. The pixel of the lower column is in
// the lower half of a byte, in either byte order.
func (m *MRC) readNibbles(ctx context.Context, dst []byte, off int64) error {
	row, width := int(m.header.rowBytes()), int(m.header.NX)
	packed := make([]byte, min(max(1<<20/row, 1), len(dst)/width)*row)
	for len(dst) > 0 {
		rows := min(len(packed)/row, len(dst)/width)
		if err := m.read(ctx, packed[:rows*row], off); err != nil {
			return err
		}
		for r := range rows {
			from, to := packed[r*row:(r+1)*row], dst[r*width:(r+1)*width]
			for i := 0; i+1 < width; i += 2 {
				to[i], to[i+1] = from[i/2]&15, from[i/2]>>4
			}
			if width%2 == 1 {
				to[width-1] = from[row-1] & 15
			}
		}
		dst, off = dst[rows*width:], off+int64(rows*row)
	}
	return nil
}

// mrcFile is an MRC file on a File, whose images the host can move without
// us.
type mrcFile struct {
	*MRC
	file storage.File
}

// File is FileReader's.
func (m mrcFile) File() storage.File { return m.file }

// Span is FileReader's.
func (m mrcFile) Span(first, n int64) (span storage.Range, raw bool) {
	raw = m.header.Mode != 101 && (!m.header.BigEndian || types[m.desc.Type].number == 1)
	return storage.Range{Off: m.off + first*m.section, Len: n * m.section}, raw
}

// source is where the bytes of an image file come from.
type source interface {
	// readAt reads what there is of len(p) bytes at off, and says how large
	// the whole is. Where it read all, the size may be unknown (-1).
	readAt(ctx context.Context, p []byte, off int64) (n int, size int64, err error)
	close() error
}

type fileSource struct {
	file storage.File
	name string
}

func (s fileSource) readAt(ctx context.Context, p []byte, off int64) (n int, size int64, err error) {
	if err := storage.Ended(ctx, s.name); err != nil {
		return 0, 0, err
	}
	n, err = s.file.ReadAt(p, off)
	if err != nil && err != io.EOF {
		return n, 0, err
	}
	if off > 0 && n == len(p) {
		return n, -1, nil
	}
	info, err := s.file.Stat()
	return n, info.Size, err
}

func (s fileSource) close() error { return s.file.Close() }

// objectSource is an object of a store, in the version that it was opened in.
type objectSource struct {
	store   storage.Store
	key     string
	version storage.Version
}

func (s *objectSource) readAt(ctx context.Context, p []byte, off int64) (n int, size int64, err error) {
	n, info, err := storage.ReadInto(ctx, s.store, s.key, off, p, s.version)
	if err == nil && info.Size < 0 && off == 0 { // nothing can be held against it
		err = fault.New(fault.ErrUnsupported, "mrc", s.key, "the store does not tell its size")
	}
	if off == 0 {
		s.version = info.Version
	}
	return n, info.Size, err
}

func (s *objectSource) close() error { return nil }
