package image

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// ReaderProvider opens the files that keys name. Safe for concurrent use.
type ReaderProvider interface {
	// Open opens the file of a key, which the caller closes. ErrNotFound if
	// there is none; ErrCorrupt or ErrUnsupported for a file that is no image.
	Open(ctx context.Context, key string) (Reader, error)
}

// Stater is an optional power of a ReaderProvider whose keys name files.
type Stater interface {
	// Stat looks at the file of a key without opening it.
	Stat(ctx context.Context, key string) (storage.FileInfo, error)
}

// Reader is an open file of images. Safe for concurrent use until Close.
type Reader interface {
	// Describe says what the file holds. It does no I/O; the answer is the
	// same until Close, also if the file changes.
	Describe() Description
	// ReadImages fills dst with the images from first on, in the type that
	// Describe says. len(dst) is a multiple of ImageBytes. ErrOutOfRange if
	// the file has fewer images; ErrCorrupt if it has become too short. dst
	// is the reader's until ReadImages returns; after an error it may hold
	// anything.
	ReadImages(ctx context.Context, dst []byte, first int64) error
	Close() error
}

// FileReader is an optional power of a Reader whose images lie in one file.
type FileReader interface {
	Reader
	// File is what the reader reads from. It is closed with the reader. Its
	// Stat tells whether the file has changed.
	File() storage.File
	// Span returns where n images from first on lie in the file; Off and Len
	// are not negative. raw tells whether those bytes are the pixels as
	// ReadImages gives them. [first, first+n) is within the file's images.
	Span(first, n int64) (span storage.Range, raw bool)
}

// Description is what a file of images holds.
type Description struct {
	Type Type
	// Shape is that of the whole file, slowest axis first: (images, rows,
	// columns) of a stack, (sections, rows, columns) of a volume, (volumes,
	// sections, rows, columns) of a stack of volumes, (rows, columns) of one
	// image.
	Shape []int64
	// CoreRank says how many of the last axes of Shape are one thing: 2 of an
	// image, 3 of a volume. It is what the file says it holds.
	CoreRank int
	// Count is how many images an index may address, ImageShape the shape of
	// one: sections, but volumes in a stack of volumes. A volume is also a
	// sequence of its sections. Count times the volume of ImageShape is that
	// of Shape.
	Count      int64
	ImageShape []int64
}

// ImageBytes is the size of one image in bytes.
func (d Description) ImageBytes() int64 {
	n := int64(d.Type.Size())
	for _, extent := range d.ImageShape {
		n *= extent
	}
	return n
}

// Bytes is the size of all images in bytes.
func (d Description) Bytes() int64 { return d.Count * d.ImageBytes() }

// Equal reports whether two descriptions say the same.
func (d Description) Equal(e Description) bool {
	return d.Type == e.Type && d.CoreRank == e.CoreRank && d.Count == e.Count &&
		slices.Equal(d.Shape, e.Shape) && slices.Equal(d.ImageShape, e.ImageShape)
}

// Images returns which images of the file a location means: ErrOutOfRange for
// an index that the file lacks.
func (d Description) Images(l ImageLocation) (first, n int64, err error) {
	if l.IsWhole() {
		return 0, d.Count, nil
	}
	if l.Index < 0 || l.Index >= d.Count {
		return 0, 0, fault.New(fault.ErrOutOfRange, "image", l.String(), "the file has "+images(d.Count))
	}
	return l.Index, 1, nil
}

// Check returns ErrInvalid for a description that no file can have: an
// unknown type, an extent below 1, sizes beyond 63 bits, a Count and shapes
// that contradict each other. A file may hold no images at all.
func (d Description) Check() error {
	if !d.Type.Valid() || d.Count < 0 || len(d.ImageShape) == 0 || d.CoreRank < 1 || d.CoreRank > len(d.Shape) {
		return fault.New(fault.ErrInvalid, "image", "", "not a description of images")
	}
	one := checkedBytes(int64(d.Type.Size()), d.ImageShape)
	if one <= 0 || checkedBytes(one, []int64{d.Count}) != checkedBytes(int64(d.Type.Size()), d.Shape) || checkedBytes(one, []int64{d.Count}) < 0 {
		return fault.New(fault.ErrInvalid, "image", "", "sizes that cannot be")
	}
	return nil
}

// checkedBytes returns item times the extents, or -1 where one is negative or
// the product is beyond 63 bits.
func checkedBytes(item int64, extents []int64) int64 {
	for _, n := range extents {
		if n < 0 || n > 0 && item > math.MaxInt64/n {
			return -1
		}
		item *= n
	}
	return item
}

func images(n int64) string {
	if n == 1 {
		return "1 image"
	}
	return strconv.FormatInt(n, 10) + " images"
}
