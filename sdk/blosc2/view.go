package blosc2

import (
	"bytes"
	"context"
	"hash/crc32"
	"io"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// view is one state of a frame: all but its chunks. It does not change; the
// file may, and then a new view is loaded.
type view struct {
	Header
	raw     []byte // the header's bytes
	tail    []byte // the trailer's
	meta    []Metalayer
	vlmeta  []Metalayer // values are chunks
	chunks  int64
	index   *index
	packed  uint32        // checksum of the index chunk
	indexed int64         // its bytes
	first   *blosc.Header // of chunk 0; nil: there is none
	shape   *Shape        // nil: not an array
	dtype   DType

	file   source
	where  *place
	sizes  sizes // of varying chunks
	values values
	known  known // checksums, once they were read
}

// load reads a state of the frame from f. What it returns was whole when it
// was read: a header that another process is about to replace shows in a
// trailer or index that does not fit.
func load(ctx context.Context, where *place, f source, l Limits) (*view, error) {
	if err := storage.Ended(ctx, where.main()); err != nil {
		return nil, err
	}
	extent, err := where.extent(f)
	if err != nil {
		return nil, err
	}
	r := &ends{r: io.NewSectionReader(f, where.off, extent)}
	if err := r.fetch(0, 0, min(extent, endBytes)); err != nil {
		return nil, err
	}
	if h, err := ParseHeader(r.parts[0].b); err == nil && h.FrameLen > extent { // it may have grown in between
		if extent, err = where.extent(f); err != nil {
			return nil, err
		}
		r.r = io.NewSectionReader(f, where.off, extent)
	}
	return parse(ctx, where, f, r, extent, l)
}

// parse reads a state of a frame of at most extent bytes from r, which has
// its header at hand.
func parse(ctx context.Context, where *place, f source, r *ends, extent int64, l Limits) (*view, error) {
	v := &view{file: f, where: where}
	var err error
	if v.Header, err = ParseHeader(r.parts[0].b); err != nil {
		return nil, err
	}
	switch {
	case v.Sparse != where.sparse:
		return nil, corrupt(26, "sparse frames are directories, contiguous ones files")
	case v.FrameLen > extent:
		return nil, corrupt(16, "a frame of "+strconv.FormatInt(v.FrameLen, 10)+" bytes, of which "+strconv.FormatInt(extent, 10)+" are there")
	case v.HeaderLen > l.Meta:
		return nil, overLimit("a header of " + strconv.FormatInt(v.HeaderLen, 10) + " bytes")
	}
	if r.parts[1].b == nil {
		last := min(v.FrameLen, endBytes)
		if err := r.fetch(1, v.FrameLen-last, last); err != nil {
			return nil, err
		}
	}
	if v.raw, err = readAt(r, 0, v.HeaderLen); err != nil {
		return nil, err
	}
	if v.meta, err = ParseMetalayers(v.raw, fixedLen, maxMetalayers); err != nil {
		return nil, err
	}
	if err := v.loadTrailer(r, l); err != nil {
		return nil, err
	}
	if err := v.loadIndex(ctx, r, l); err != nil {
		return nil, err
	}
	return v, v.loadShape()
}

// dataLen is how many bytes of data lie between header and index.
func (h *Header) dataLen() int64 {
	if h.Sparse {
		return 0
	}
	return h.PackedSize
}

// loadTrailer reads the trailer. That of a frame without chunks lies right
// after its header, wherever the frame ends.
func (v *view) loadTrailer(r io.ReaderAt, l Limits) error {
	var end [trailerLeast]byte
	if v.FrameLen < v.HeaderLen+trailerLeast {
		return corrupt(v.FrameLen, "no room for a trailer")
	}
	if err := readFull(r, end[:], v.FrameLen-trailerLeast); err != nil {
		return err
	}
	n, err := ParseTrailerLen(end[:])
	if err != nil {
		return err
	}
	start := v.FrameLen - n
	if v.Size == 0 {
		start = v.HeaderLen
	}
	switch {
	case n > v.FrameLen-v.HeaderLen, v.Size > 0 && start < v.HeaderLen+v.dataLen():
		return corrupt(v.FrameLen-trailerTail, "a trailer of "+strconv.FormatInt(n, 10)+" bytes")
	case n > l.Meta:
		return overLimit("a trailer of " + strconv.FormatInt(n, 10) + " bytes")
	}
	if v.tail, err = readAt(r, start, n); err != nil {
		return err
	}
	v.vlmeta, err = ParseTrailer(v.tail)
	return err
}

// loadIndex reads the index chunk, which lies between data and trailer, and
// the header of the first chunk.
func (v *view) loadIndex(ctx context.Context, r *ends, l Limits) error {
	if v.Size == 0 {
		return nil
	}
	at := v.HeaderLen + v.dataLen()
	room := v.FrameLen - int64(len(v.tail)) - at
	count := int64(-1)
	if v.ChunkSize > 0 {
		count = (v.Size-1)/int64(v.ChunkSize) + 1
	}
	var packed []byte
	var err error
	if r.index != nil {
		packed, v.index = r.parts[1].b[:room], r.index
	} else if packed, err = readChunk(r, at, room, l.Index); err != nil {
		return indexError(err)
	} else if v.index, err = newIndex(packed, count, l.Index); err != nil {
		return err
	}
	v.chunks, v.packed, v.indexed = v.index.count, crc32.Checksum(packed, castagnoli), int64(len(packed))
	if v.chunks == 0 || v.chunks > maxChunks {
		return fault.New(fault.ErrCorrupt, "frame", "index", strconv.FormatInt(v.chunks, 10)+" chunks")
	}
	if v.first = r.first; v.first != nil && v.fits(*v.first, 0) == nil {
		return nil
	}
	first, err := v.chunkHeader(ctx, 0)
	if err == nil {
		v.first = &first
	}
	return v.doubted(ctx, 0, err, Options{Limits: l})
}

// loadShape reads the geometry, if the frame is an array.
func (v *view) loadShape() error {
	value, ok := find(v.meta, shapeLayer)
	if !ok {
		if value, ok = find(v.meta, olderLayer); !ok {
			return nil
		}
	}
	s, err := ParseShape(value)
	if err == nil {
		err = s.fits(&v.Header, v.chunks)
	}
	if err != nil {
		return err
	}
	v.shape = &s
	if s.DType == "" {
		s.DType = "|V" + strconv.Itoa(v.TypeSize)
	}
	if s.Format != 0 {
		return fault.New(fault.ErrUnsupported, "data type", s.DType, "of format "+strconv.Itoa(s.Format))
	}
	if v.dtype, err = ParseDType(s.DType); err == nil && v.dtype.size != int64(v.TypeSize) {
		err = shapeError("items of " + strconv.FormatInt(v.dtype.size, 10) + " bytes, the frame has them of " + strconv.Itoa(v.TypeSize))
	}
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// same reports whether nothing but chunks can differ between two states.
func (v *view) same(o *view) bool {
	return v.packed == o.packed && v.indexed == o.indexed && bytes.Equal(v.raw, o.raw) && bytes.Equal(v.tail, o.tail)
}

// readChunk reads the chunk at off, of at most room bytes, whose own header
// says how many it has.
func readChunk(r io.ReaderAt, off, room, limit int64) ([]byte, error) {
	head, h, err := readHead(r, off, room, endBytes)
	if err != nil {
		return nil, err
	}
	n := int64(h.PackedSize)
	if n > limit {
		return nil, overLimit("a chunk of " + strconv.FormatInt(n, 10) + " bytes")
	}
	if n <= int64(len(head)) {
		return head[:n], nil
	}
	b := make([]byte, n)
	have := copy(b, head)
	return b, readFull(r, b[have:], off+int64(have))
}

// readHead reads the first bytes of a chunk, up to want of them, and its
// header.
func readHead(r io.ReaderAt, off, room, want int64) ([]byte, blosc.Header, error) {
	if room < blosc.HeaderSize {
		return nil, blosc.Header{}, corrupt(off, "a chunk without room for its header")
	}
	head, err := readAt(r, off, min(room, want))
	if err != nil {
		return nil, blosc.Header{}, err
	}
	h, err := blosc.ParseHeader(head)
	if err == nil && int64(h.PackedSize) > room {
		err = corrupt(off+12, "a chunk of "+strconv.Itoa(h.PackedSize)+" bytes, of which "+strconv.FormatInt(room, 10)+" are there")
	}
	return head, h, err
}
