package engine

import (
	"context"
	"math"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// picturesRequest is what a request about images was given.
type picturesRequest struct {
	files imagesPlace
	key   string
	title string // of a table, in errors
	first int64
	count int64
	table image.TableOptions

	making *scratchMaking // of scratch_open
	wanted []wanted       // of scratch_read and scratch_locate
	deed   string         // of scratch_do
	keys   []uint32       // of its prefetch
	budget int64          // of its collect
}

// imagesPlace is where image files are looked for, and how they are read.
type imagesPlace struct {
	fs    uint32
	store *storePlace // nil: they are in fs
	o     image.FilesOptions
}

var byteSigns = map[string]image.ByteSign{"": image.BytesAsMarked, "marked": image.BytesAsMarked, "signed": image.BytesSigned, "unsigned": image.BytesUnsigned}

// parse takes a request apart; false: it is not as the ABI says.
func (p *imagesPlace) parse(m *rawjson.Members) bool {
	p.fs = uint32(m.Int("fs", 0, math.MaxUint32, 0))
	var ok bool
	p.o.Bytes, ok = byteSigns[m.String("bytes", "")]
	p.o.AllowPartial, p.o.Strict = m.Bool("partial"), m.Bool("strict")
	for _, raw := range m.List("roots") {
		root, err := rawjson.String(raw)
		ok = ok && err == nil
		p.o.Roots = append(p.o.Roots, root)
	}
	if m.Raw("store") != nil {
		p.store = &storePlace{}
		ok = ok && p.store.parse(m.Object("store"))
	}
	return ok && m.Err() == nil
}

// files opens what keys name there.
func (e *Engine) imageFiles(p *imagesPlace) image.ReaderProvider {
	if p.store != nil {
		return image.Objects(e.store(p.store), p.o)
	}
	return image.Files(e.fileSystem(p.fs), p.o)
}

// content opens a file itself, of a table.
func (e *Engine) content(ctx context.Context, p *imagesPlace, name string) (storage.File, error) {
	if p.store != nil {
		return storage.FileOf(ctx, e.store(p.store), name), nil
	}
	return e.fileSystem(p.fs).Open(ctx, name, storage.OpenRead)
}

// parseImages takes apart what is about images.
func (e *Engine) parseImages(q *request, req []byte) fault.Code {
	p := &picturesRequest{}
	q.pictures = p
	switch q.kind {
	case wire.KindImagesOpen, wire.KindTableRead:
		m := rawjson.MembersOf(req)
		p.key = m.String("key", "")
		p.title = m.String("title", p.key)
		p.first, p.count = m.Int("first", 0, math.MaxInt64, 0), m.Int("count", 0, math.MaxInt64, math.MaxInt64)
		p.table = image.TableOptions{Column: m.String("column", ""), Clean: m.Bool("clean")}
		if !p.files.parse(m) {
			return fault.CodeInvalid
		}
		if q.kind == wire.KindTableRead {
			q.weight = e.memory / 4
		}
		return 0
	case wire.KindImagesRead:
		r := wire.NewReader(req)
		q.at = e.imagesOf(r.U32())
		q.flags, p.first, p.count = r.U32(), r.I64(), r.I64()
		if p.count < 0 {
			return fault.CodeInvalid
		}
		if q.at != nil {
			// Rows of the file besides, where pixels have to be unpacked.
			q.weight = add(someBytes, times(q.at.images.Describe().ImageBytes(), p.count))
		}
		return closedUnless(&r, q.at != nil)
	}
	return e.parseScratch(q, req)
}

// times multiplies without wrapping around; neither is negative.
func times(a, b int64) int64 { return volume([]int64{a}, b) }

func (e *Engine) imagesOf(handle uint32) *object {
	if o, ok := e.handles.Get(handle); ok && o.images != nil {
		return o
	}
	return nil
}

// doImages carries out what is about images.
func (e *Engine) doImages(ctx context.Context, q *request) (answer, error) {
	if op := operationOf(ctx); op != nil {
		ctx = asking{op, e}
	}
	switch q.kind {
	case wire.KindImagesOpen:
		return e.imagesOpen(ctx, q.pictures)
	case wire.KindImagesRead:
		return e.imagesRead(ctx, q)
	case wire.KindTableRead:
		return e.tableRead(ctx, q.pictures)
	case wire.KindScratchOpen:
		return e.scratchOpen(ctx, q.pictures.making)
	case wire.KindScratchRead:
		return e.scratchRead(ctx, q)
	case wire.KindScratchLocate:
		return q.at.scratch.locate(ctx, q.pictures.wanted)
	case wire.KindScratchDo:
		return e.scratchDo(ctx, q)
	}
	return answer{}, fault.New(fault.ErrUnsupported, "operation", "", "no such kind")
}

func (e *Engine) imagesOpen(ctx context.Context, p *picturesRequest) (answer, error) {
	r, err := e.imageFiles(&p.files).Open(ctx, p.key)
	if err != nil {
		return answer{}, err
	}
	a, err := inJSON(description{r}, nil)
	if err == nil {
		a.object, err = e.put(&object{images: r})
	}
	if err != nil {
		_ = r.Close()
		return answer{}, err
	}
	return a, nil
}

// imagesRead answers where the images lie if that is asked for and they lie
// in a file of the host's as they are given.
func (e *Engine) imagesRead(ctx context.Context, q *request) (answer, error) {
	r, p := q.at.images, q.pictures
	d := r.Describe()
	if p.first < 0 || p.first > d.Count || p.count > d.Count-p.first {
		return answer{}, fault.New(fault.ErrOutOfRange, "image", "", "beyond those of the file")
	}
	if fr, ok := r.(image.FileReader); ok && q.flags&wire.FlagHere != 0 {
		if f, ok := fr.File().(*file); ok {
			if span, raw := fr.Span(p.first, p.count); raw {
				return locatedAt(f.fs, f.name, "", span.Off, span.Len), nil
			}
		}
	}
	if q.weight > e.gate.limit {
		return answer{}, fault.New(fault.ErrLimit, "image", "", "more than the memory allows")
	}
	b := make([]byte, p.count*d.ImageBytes())
	return answer{kind: wire.Bytes, bytes: b}, r.ReadImages(ctx, b, p.first)
}

// description is what images_open answers: what "gridhold info --json" prints
// of a file of images.
type description struct{ r image.Reader }

// WriteJSON implements [rawjson.Value].
func (d description) WriteJSON(w *rawjson.Writer) {
	is := d.r.Describe()
	w.Open('{')
	w.Name("kind").String(kindOf(is))
	w.Name("format").String("mrc")
	writeShapes(w, is)
	if mrc, ok := d.r.(interface{ Header() *image.MRCHeader }); ok {
		writeHeader(w, mrc.Header())
	}
	w.Close('}')
}

func kindOf(is image.Description) string {
	switch {
	case len(is.Shape) == 2:
		return "image"
	case is.CoreRank == 2:
		return "image stack"
	case len(is.Shape) == 3:
		return "volume"
	}
	return "stack of volumes"
}

func writeShapes(w *rawjson.Writer, is image.Description) {
	w.Name("shape").Ints(is.Shape)
	w.Name("data_type").String(is.Type.String())
	w.Name("images").Int(is.Count)
	w.Name("image_shape").Ints(is.ImageShape)
}

func writeHeader(w *rawjson.Writer, h *image.MRCHeader) {
	w.Name("mode").Int(int64(h.Mode))
	order := "little"
	if h.BigEndian {
		order = "big"
	}
	w.Name("byte_order").String(order)
	w.Name("space_group").Int(int64(h.SpaceGroup))
	if h.PixelSize != 0 {
		w.Name("pixel_size").Float(h.PixelSize)
	}
	w.Name("axes").Ints([]int64{int64(h.Axes[0]), int64(h.Axes[1]), int64(h.Axes[2])})
	if h.Extended != 0 {
		w.Name("extended_header_bytes").Int(int64(h.Extended))
	}
	if h.ExtendedType != "" {
		w.Name("extended_header_type").String(h.ExtendedType)
	}
	if len(h.Labels) > 0 {
		writeNames(w.Name("labels"), h.Labels)
	}
	if len(h.Warnings) > 0 {
		writeNames(w.Name("warnings"), h.Warnings)
	}
}

// closeImages closes a file of images or a scratch, of an object that is one.
func (o *object) closeImages() error {
	switch {
	case o.images != nil:
		return o.images.Close()
	case o.scratch != nil:
		return o.scratch.Close()
	}
	return nil
}
