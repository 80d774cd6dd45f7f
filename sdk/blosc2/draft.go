package blosc2

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// draft is the next state of a frame before it is published. Its chunks are
// written past the end of the frame (or to files that nothing names), so that
// until then all of the state before is where it was.
type draft struct {
	f *frame
	Header
	raw     []byte // the header before
	meta    []Metalayer
	vlmeta  []Metalayer
	entries []int64       // the index
	indexed bool          // the index changed
	end     int64         // where the next bytes go: in the frame; in a sparse one, the number of the next file
	placed  bool          // chunk files were made
	gone    []int64       // chunk files that the new state does not name
	noted   map[int64]sum // of chunks that were added, by entry, if checksums are kept
	head    []byte        // the header that was published
	tail    []byte        // what was written at end then, in spare room; nil: the whole file was
}

// draft begins with the state as it is.
func (f *frame) draft(ctx context.Context) (*draft, error) {
	v := f.view
	if 8*v.chunks > f.o.Limits.Index {
		return nil, overLimit("an index of " + strconv.FormatInt(v.chunks, 10) + " chunks")
	}
	d := &draft{f: f, Header: v.Header, raw: v.raw, meta: v.meta, vlmeta: v.vlmeta, entries: sized(&f.spare.entries, int(v.chunks))}
	for i := range d.entries {
		e, err := v.index.at(int64(i))
		if err != nil {
			return nil, err
		}
		d.entries[i] = e.value()
		if d.Sparse && e.Special == blosc.NotSpecial {
			d.end = max(d.end, e.At+1)
		}
	}
	if d.Sparse && f.where.fs != nil {
		return d, d.number(ctx)
	}
	if !d.Sparse {
		extent, err := f.where.extent(v.file)
		if err != nil {
			return nil, err
		}
		d.end = max(d.FrameLen, extent)
	}
	return d, nil
}

// number finds a number for the next file of a chunk that no state before gave
// to one: who still reads that state must find its chunks or nothing. So the
// file of the highest number stays, also when nothing names it.
func (d *draft) number(ctx context.Context) error {
	if d.f.files.of != d.f.view {
		names, err := d.f.where.fs.List(ctx, d.f.where.name)
		if err != nil {
			return err
		}
		for _, name := range names {
			digits, ok := strings.CutSuffix(name, chunkSuffix)
			if n, err := strconv.ParseInt(digits, 16, 64); ok && err == nil {
				d.f.files.next = max(d.f.files.next, n+1)
			}
		}
	}
	d.end = max(d.end, d.f.files.next)
	d.gone, d.f.files.last = d.f.files.last, nil
	return nil
}

// params are those of a new chunk.
func (h *Header) params() blosc.Params {
	p := blosc.Params{
		Codec: blosc.Codec(h.Codec), Level: h.Level, TypeSize: h.TypeSize, BlockSize: h.BlockSize,
		Split: blosc.Split(h.Split), Dictionary: h.UseDict,
	}
	for i, id := range h.Filters {
		p.Filters = append(p.Filters, blosc.Filter{ID: blosc.FilterID(id), Meta: h.FilterMetas[i]})
	}
	return p
}

// encode makes a chunk of decoded bytes and adds it.
func (d *draft) encode(ctx context.Context, data []byte) (int64, error) {
	p := d.params()
	p.Workers = d.f.o.Workers
	b, err := blosc.Encode(d.f.spare.packed[:0], data, p)
	if err != nil {
		return 0, err
	}
	d.f.spare.packed = b // add keeps nothing of it
	return d.add(ctx, b)
}

// add writes a chunk and returns its entry in the index.
func (d *draft) add(ctx context.Context, chunk []byte) (int64, error) {
	if err := storage.Ended(ctx, d.f.where.name); err != nil {
		return 0, err
	}
	h, err := blosc.ParseHeader(chunk)
	if err != nil {
		return 0, err
	}
	d.indexed = true
	if h.Special != blosc.NotSpecial && h.Special != blosc.Repeated {
		if h.Size <= d.ChunkSize && h.Size%d.TypeSize == 0 { // a shorter one is the last
			return Entry{Special: h.Special}.value(), nil
		}
		if chunk, err = d.spelled(h); err != nil {
			return 0, err
		}
	}
	if !d.Sparse {
		at := d.end
		if _, err := d.file().WriteAt(chunk, at); err != nil {
			return 0, err
		}
		d.end += int64(len(chunk))
		d.note(at-d.HeaderLen, chunk)
		return at - d.HeaderLen, nil
	}
	number := d.end
	if number > 1<<32-1 {
		return 0, overLimit("more files of chunks than there are names")
	}
	f, err := d.f.where.fs.Open(ctx, join(d.f.where.name, chunkName(number)), storage.OpenWrite|storage.OpenCreate|storage.OpenTruncate)
	if err != nil {
		return 0, err
	}
	if err := written(f, chunk, d.f.o.Durability != SyncNever); err != nil {
		return 0, err
	}
	d.end++
	d.placed = true
	d.note(number, chunk)
	d.PackedSize += int64(len(chunk))
	return number, nil
}

// spelled is a chunk of what h says, for where the index cannot say it:
// python-blosc2 takes zeros and NaNs from nowhere else.
func (d *draft) spelled(h blosc.Header) ([]byte, error) {
	p := d.params()
	if h.Size%d.TypeSize > 0 {
		p.Level = 0
		return blosc.Encode(nil, make([]byte, h.Size), p)
	}
	value := make([]byte, d.TypeSize)
	switch {
	case h.Special == blosc.NaNs && d.TypeSize == 4:
		binary.LittleEndian.PutUint32(value, 0x7fc00000)
	case h.Special == blosc.NaNs:
		binary.LittleEndian.PutUint64(value, 0x7ff8000000000000)
	}
	return blosc.EncodeSpecial(nil, blosc.Repeated, h.Size, value, p)
}

// drop says that the new state does without what entry names.
func (d *draft) drop(ctx context.Context, i int) error {
	d.indexed = true
	if !d.Sparse || d.entries[i] < 0 {
		return nil
	}
	d.gone = append(d.gone, d.entries[i])
	s, err := d.f.view.at(ctx, d.entries[i])
	if err != nil {
		return chunkError(int64(i), err)
	}
	defer s.Close()
	_, h, err := readHead(s, 0, s.room, blosc.ExtendedHeaderSize)
	d.PackedSize -= int64(h.PackedSize)
	return chunkError(int64(i), err)
}

func (d *draft) file() storage.File { return d.f.view.file.(storage.File) }

// publish makes the draft the state of the frame.
//
// That is one write of the header, which is all that anybody finds the rest
// by. Only a frame without chunks cannot be made so, because its trailer lies
// right after the header, where data is: it takes the place of the file.
func (d *draft) publish(ctx context.Context, g *grip) error {
	if err := d.checksum(ctx); err != nil {
		return err
	}
	d.HasVLMeta = len(d.vlmeta) > 0
	d.FrameLen = 0
	sync := d.f.o.Durability
	head := d.header()
	if d.Size > 0 && head == nil {
		return fault.New(fault.ErrInvalid, "metalayers", "", "they keep their lengths once there are chunks")
	}
	if d.Size == 0 || d.Sparse {
		b, err := d.whole()
		if err != nil {
			return err
		}
		if d.placed && sync == SyncCommits { // before anything leads to what is in them
			if err := d.f.where.fs.SyncDir(ctx, d.f.where.name); err != nil {
				return err
			}
		}
		err = replace(ctx, d.f.where.fs, d.f.where.main(), sync, false, func(f storage.File) error {
			if _, err := f.WriteAt(b, 0); err != nil {
				return err
			}
			return d.due(ctx, g)
		})
		if err != nil {
			return err
		}
		return d.clean(ctx)
	}
	tail := d.f.spare.tail[:0]
	if d.indexed {
		d.PackedSize = d.end - d.HeaderLen
		var err error
		if tail, err = d.f.spare.encodeIndex(tail, d.entries); err != nil {
			return err
		}
	}
	tail = append(tail, trailer(d.vlmeta)...)
	d.f.spare.tail = tail
	f := d.file()
	if _, err := f.WriteAt(tail, d.end); err != nil {
		return err
	}
	d.head, d.tail = head, tail
	if sync == SyncCommits {
		if err := first(f.Sync(), d.f.secure(ctx)); err != nil {
			return err
		}
	}
	d.FrameLen = d.end + int64(len(tail))
	if err := d.due(ctx, g); err != nil {
		return err
	}
	putHeader(head, d.Header)
	if _, err := f.WriteAt(head, 0); err != nil {
		return err
	}
	if sync == SyncCommits {
		return f.Sync()
	}
	return nil
}

// whole is the file of a frame that has no data in it.
func (d *draft) whole() ([]byte, error) {
	switch {
	case d.Sparse && len(d.entries) > 0:
		// python-blosc2 opens no frame whose files have higher numbers than
		// this: it takes them for positions.
		d.PackedSize = max(d.PackedSize, slices.Max(d.entries)+blosc.ExtendedHeaderSize)
	case d.Size == 0:
		d.PackedSize = 0
	}
	head := newHeader(d.Header, d.meta)
	if b := d.header(); b != nil {
		head = b // with what this package knows nothing of
	}
	d.HeaderLen = int64(len(head))
	b := head
	if d.Size > 0 {
		index, err := encodeIndex(d.entries)
		if err != nil {
			return nil, err
		}
		b = append(b, index...)
	}
	b = append(b, trailer(d.vlmeta)...)
	d.FrameLen = int64(len(b))
	putHeader(b, d.Header)
	return b, nil
}

// header is the new header, in the bytes of the one before; nil if it has
// another length.
func (d *draft) header() []byte {
	b := newHeader(d.Header, d.meta)
	if len(b) != len(d.raw) {
		return nil
	}
	copy(b[:fixedLen], d.raw)
	putHeader(b, d.Header)
	return b
}

// clean removes the chunk files that are left over. A reader of the state
// before that misses them finds the new one.
func (d *draft) clean(ctx context.Context) error {
	if len(d.gone) == 0 {
		return nil
	}
	if i := slices.Index(d.gone, d.end-1); i >= 0 {
		d.gone, d.f.files.last = slices.Delete(d.gone, i, i+1), []int64{d.end - 1}
	}
	where := d.f.where
	remove := func() (failed error) {
		for _, number := range d.gone {
			err := where.fs.Remove(context.WithoutCancel(ctx), join(where.name, chunkName(number)))
			if !errors.Is(err, fault.ErrNotFound) {
				failed = first(failed, err)
			}
		}
		return failed
	}
	kept, err := pins.later(ctx, &where, func() { _ = remove() })
	if kept || err != nil {
		return err
	}
	return remove()
}

// encodeIndex makes the index chunk as the C library does.
func encodeIndex(entries []int64) ([]byte, error) { return new(spare).encodeIndex(nil, entries) }

// encodeIndex appends the index chunk to dst, and leaves what it decodes to.
func (s *spare) encodeIndex(dst []byte, entries []int64) ([]byte, error) {
	same := true
	b := sized(&s.index, 8*len(entries))
	for i, e := range entries {
		same = same && e == entries[0] && e < 0
		binary.LittleEndian.PutUint64(b[8*i:], uint64(e))
	}
	s.index = b
	if same && len(entries) > 1 {
		return blosc.EncodeSpecial(dst, blosc.Repeated, len(b), b[:8], blosc.Params{TypeSize: 8})
	}
	return blosc.Encode(dst, b, blosc.Params{
		Codec: blosc.BloscLZ, Level: 5, TypeSize: 8, BlockSize: 16 << 10, Split: blosc.SplitNever,
		Filters: []blosc.Filter{5: {ID: blosc.Shuffle}},
	})
}

// newHeader makes a header from nothing.
func newHeader(h Header, meta []Metalayer) []byte {
	b := make([]byte, fixedLen, fixedLen+lenOfMetalayers(meta))
	for _, f := range fixedTypes {
		copy(b[f.at:], f.want)
	}
	b[25] = 0x10
	if h.Sparse {
		b[26] = 1
	}
	b[27] = byte(h.Level<<4) | byte(min(h.Codec, 6))
	b[28] = byte(h.Split - 1)
	binary.BigEndian.PutUint32(b[48:], uint32(h.TypeSize))
	binary.BigEndian.PutUint16(b[63:], 1) // threads: nobody asks
	binary.BigEndian.PutUint16(b[66:], 1)
	b[70] = maxFilters
	copy(b[71:], h.Filters[:])
	b[77], b[78] = byte(h.Codec), h.CodecMeta
	copy(b[79:], h.FilterMetas[:])
	if h.UseDict {
		b[85] = 1
	}
	b = appendMetalayers(b, meta, fixedLen)
	binary.BigEndian.PutUint32(b[11:], uint32(len(b)))
	putHeader(b, h)
	return b
}

// putHeader sets the fields of a header that commits change.
func putHeader(b []byte, h Header) {
	b[25] = b[25]&0x30 | 2
	if h.Varying || h.VarBlocks {
		b[25] = b[25]&0x30 | 3
	}
	if h.Varying {
		b[25] |= 0x40
	}
	if h.VarBlocks {
		b[25] |= 0x80
	}
	binary.BigEndian.PutUint64(b[16:], uint64(h.FrameLen))
	binary.BigEndian.PutUint64(b[30:], uint64(h.Size))
	binary.BigEndian.PutUint64(b[39:], uint64(h.PackedSize))
	binary.BigEndian.PutUint32(b[53:], uint32(h.BlockSize))
	binary.BigEndian.PutUint32(b[58:], uint32(h.ChunkSize))
	b[68] = 0xc2
	if h.HasVLMeta {
		b[68] = 0xc3
	}
}
