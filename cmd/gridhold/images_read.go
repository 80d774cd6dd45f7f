package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// imageDescription is what info says of a file of images.
type imageDescription struct {
	Kind       string   `json:"kind"`
	Format     string   `json:"format"`
	Shape      []int64  `json:"shape"`
	DataType   string   `json:"data_type"`
	Images     int64    `json:"images"`
	ImageShape []int64  `json:"image_shape"`
	Mode       int32    `json:"mode"`
	ByteOrder  string   `json:"byte_order"`
	SpaceGroup int32    `json:"space_group"`
	PixelSize  float64  `json:"pixel_size,omitempty"`
	Axes       []int32  `json:"axes"`
	Extended   int32    `json:"extended_header_bytes,omitempty"`
	ExtendedBy string   `json:"extended_header_type,omitempty"`
	Labels     []string `json:"labels,omitempty"`
	Warnings   []string `json:"warnings,omitempty"`
}

func (m *images) describe(ctx context.Context) (json.RawMessage, error) {
	if m.table {
		return m.describeTable(ctx)
	}
	r, err := m.open(ctx, m.key, false)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	d := r.Describe()
	is := imageDescription{Kind: imageKind(d), Format: "mrc", Shape: d.Shape, DataType: d.Type.String(), Images: d.Count, ImageShape: d.ImageShape, ByteOrder: "little"}
	if mrc, ok := r.(interface{ Header() *image.MRCHeader }); ok {
		h := mrc.Header()
		is.Mode, is.SpaceGroup, is.PixelSize, is.Axes = h.Mode, h.SpaceGroup, h.PixelSize, h.Axes[:]
		is.Extended, is.ExtendedBy, is.Labels, is.Warnings = h.Extended, h.ExtendedType, h.Labels, h.Warnings
		if h.BigEndian {
			is.ByteOrder = "big"
		}
	}
	return json.Marshal(is)
}

func imageKind(d image.Description) string {
	switch {
	case len(d.Shape) == 2:
		return "image"
	case d.CoreRank == 2:
		return "image stack"
	case len(d.Shape) == 3:
		return "volume"
	}
	return "stack of volumes"
}

// block returns what read writes, and its data type. k selects an image, or
// a row of a table; nil: none does. close is to be called when it is written.
func (m *images) block(ctx context.Context, sel selection, k *int64) (b *block, dataType string, close func() error, err error) {
	l := image.ImageLocation{Key: m.key, Index: image.WholeFile}
	switch {
	case sel.subchunk != nil || sel.chunk != nil:
		return nil, "", nil, usagef("--subchunk and --chunk go with chunked arrays: here are images")
	case m.table && k == nil:
		return nil, "", nil, usagef("choose a row of the table with --image")
	case m.table:
		if l, err = m.row(ctx, *k); err != nil {
			return nil, "", nil, err
		}
	case k != nil:
		l.Index = *k
	}
	r, err := m.open(ctx, l.Key, false)
	if err != nil {
		return nil, "", nil, err
	}
	a := &pictures{Reader: r}
	if a.is, err = describePictures(r.Describe(), l); err == nil {
		b, err = decodedBlock(a, sel)
	}
	if err != nil {
		return nil, "", nil, errors.Join(err, r.Close())
	}
	return b, a.is.DataType, r.Close, nil
}

// pictures is one image, or all of a file, as read takes arrays.
type pictures struct {
	image.Reader
	is     *pictureDescription
	kept   []byte // the image keptAt, or nil
	keptAt int64
}

type pictureDescription struct {
	description
	first int64 // image of the file
	one   []int64
}

// mostImage is how many bytes an image may have: a file of nothing may claim
// any size.
const mostImage = 8 << 30

func tooLarge(n int64) error {
	return fault.New(fault.ErrLimit, "image", "", fmt.Sprintf("images of %d bytes, which are read whole", n))
}

// describePictures makes an array of what a location means: its chunks are
// the images.
func describePictures(d image.Description, l image.ImageLocation) (*pictureDescription, error) {
	first, _, err := d.Images(l)
	if err != nil {
		return nil, err
	}
	if n := d.ImageBytes(); n > mostImage {
		return nil, tooLarge(n)
	}
	p := &pictureDescription{first: first, one: d.ImageShape}
	p.Shape, p.DataType, p.ItemSize = d.Shape, d.Type.String(), int64(d.Type.Size())
	if !l.IsWhole() {
		p.Shape = d.ImageShape
	}
	p.ChunkShape = d.ImageShape
	if len(p.Shape) > len(d.ImageShape) {
		p.ChunkShape = append([]int64{1}, d.ImageShape...)
	}
	p.SubchunkShape = p.ChunkShape
	return p, nil
}

func (p *pictures) shape() *description { return &p.is.description }

// copyOfRegion reads the images that the region lies in, one at a time unless
// it takes them whole.
func (p *pictures) copyOfRegion(ctx context.Context, start, stop []int64) ([]byte, error) {
	first, count := p.is.first, int64(1)
	if len(start) > len(p.is.one) {
		first, count = first+start[0], stop[0]-start[0]
		start, stop = start[1:], stop[1:]
	}
	shape := shapeOf(start, stop)
	out := make([]byte, count*p.is.bytes(shape))
	if slices.Equal(shape, p.is.one) {
		return out, p.ReadImages(ctx, out, first)
	}
	rest := out
	for i := range count {
		one, err := p.image(ctx, first+i)
		if err != nil {
			return nil, err
		}
		rest = rest[cutOut(rest, one, p.is.one, start, stop, p.is.ItemSize):]
	}
	return out, nil
}

// image returns one image, which is kept: a large one is asked for again, for
// its next rows.
func (p *pictures) image(ctx context.Context, i int64) ([]byte, error) {
	if p.kept != nil && p.keptAt == i {
		return p.kept, nil
	}
	one := p.kept
	if p.kept = nil; one == nil {
		one = make([]byte, p.is.bytes(p.is.one))
	}
	if err := p.ReadImages(ctx, one, i); err != nil {
		return nil, err
	}
	p.kept, p.keptAt = one, i
	return one, nil
}

// cutOut copies [start, stop) of a block into dst and returns how many bytes
// that were.
func cutOut(dst, src []byte, shape, start, stop []int64, item int64) (n int64) {
	if len(shape) == 1 {
		return int64(copy(dst, src[start[0]*item:stop[0]*item]))
	}
	step := volume(item, shape[1:])
	for i := start[0]; i < stop[0]; i++ {
		n += cutOut(dst[n:], src[i*step:(i+1)*step], shape[1:], start[1:], stop[1:], item)
	}
	return n
}

func (p *pictures) region(ctx context.Context, start, stop []int64) ([]byte, error) {
	return p.copyOfRegion(ctx, start, stop)
}

func (p *pictures) subchunk(context.Context, []int64) ([]byte, error) {
	return nil, fault.ErrUnsupported
}

func (p *pictures) encodedSubchunk(context.Context, []int64) ([]byte, error) {
	return nil, fault.ErrUnsupported
}

// verify reads every image of a file, also of one that is cut short; for a
// table see verifyTable.
func (m *images) verify(ctx context.Context) (checked int64, damaged []zarr.Damage, err error) {
	if m.table {
		return m.verifyTable(ctx)
	}
	r, err := m.open(ctx, m.key, true)
	if errors.Is(err, fault.ErrCorrupt) {
		return 1, []zarr.Damage{damageOf(err)}, nil
	}
	if err != nil {
		return 0, nil, err
	}
	defer r.Close()
	if n := r.Describe().ImageBytes(); n > mostImage {
		// A file that is cut short holds none of them, most likely.
		whole, err := m.open(ctx, m.key, false)
		switch {
		case errors.Is(err, fault.ErrCorrupt):
			return 1, []zarr.Damage{damageOf(err)}, nil
		case err == nil:
			err = errors.Join(tooLarge(n), whole.Close())
		}
		return 0, nil, err
	}
	one := make([]byte, r.Describe().ImageBytes())
	for i := range r.Describe().Count {
		checked++
		err := r.ReadImages(ctx, one, i)
		if errors.Is(err, fault.ErrCancelled) {
			return checked, damaged, err
		}
		if err != nil {
			d := damageOf(m.own(err))
			d.Item = fmt.Sprintf("image %d", i)
			damaged = append(damaged, d)
		}
	}
	return checked, damaged, nil
}
