package host

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// imagePlace is where image files are looked for, as requests spell it.
type imagePlace struct {
	FS      uint32          `json:"fs,omitempty"`
	Store   json.RawMessage `json:"store,omitempty"`
	Roots   []string        `json:"roots,omitempty"`
	Bytes   string          `json:"bytes,omitempty"`
	Partial bool            `json:"partial,omitempty"`
	Strict  bool            `json:"strict,omitempty"`
}

var byteSigns = map[image.ByteSign]string{image.BytesAsMarked: "marked", image.BytesSigned: "signed", image.BytesUnsigned: "unsigned"}

func (p *imagePlace) options(o image.FilesOptions) {
	p.Roots, p.Bytes, p.Partial, p.Strict = o.Roots, byteSigns[o.Bytes], o.AllowPartial, o.Strict
}

// Images opens image files in the sandbox: see [Sandbox.Images]. It is an
// image.ReaderProvider. Safe for concurrent use; there is nothing to close.
type Images struct {
	sandbox *Sandbox
	fs      storage.FS    // nil: they are in the store
	store   storage.Store // nil: they are in fs
	o       image.FilesOptions
}

// Images returns the provider that takes keys as names of MRC files, as
// [image.Files] does. The guest reaches what is in fs and nothing else.
func (s *Sandbox) Images(fs storage.FS, o image.FilesOptions) *Images {
	return &Images{sandbox: s, fs: fs, o: o}
}

// ImageObjects returns the provider that takes keys as names of MRC files in
// a store, as [image.Objects] does.
func (s *Sandbox) ImageObjects(st storage.Store, o image.FilesOptions) *Images {
	return &Images{sandbox: s, store: st, o: o}
}

// place lends the guest where the files are; free ends that.
func (p *Images) place() (at imagePlace, free func(), err error) {
	at.options(p.o)
	if p.fs != nil {
		at.FS = p.sandbox.systems.add(p.fs)
		return at, func() { p.sandbox.systems.remove(at.FS) }, nil
	}
	st, free, err := p.sandbox.lend(p.store)
	if err != nil {
		return at, nil, err
	}
	if at.Store, err = json.Marshal(st); err != nil {
		free()
	}
	return at, free, err
}

// Open is image.ReaderProvider's. What it returns is a *Stack.
func (p *Images) Open(ctx context.Context, key string) (image.Reader, error) {
	at, free, err := p.place()
	if err != nil {
		return nil, err
	}
	if free, err = p.sandbox.admit(free); err != nil {
		return nil, err
	}
	s := &Stack{sandbox: p.sandbox, place: at, key: key, free: free}
	if err := s.first(ctx); err != nil {
		free()
		return nil, err
	}
	return s, nil
}

// Stat is image.Stater's. The guest is not asked.
func (p *Images) Stat(ctx context.Context, key string) (storage.FileInfo, error) {
	if p.fs == nil {
		return storage.FileInfo{}, fault.New(fault.ErrUnsupported, "image", key, "objects of a store are not looked at")
	}
	return image.Files(p.fs, p.o).(image.Stater).Stat(ctx, key)
}

// Stack is a file of images that was opened in a sandbox. It is an
// image.Reader; its methods may be called concurrently, and each waits for a free
// instance. After the guest died it opens itself again: ErrStale if
// the file is another one by then.
type Stack struct {
	sandbox *Sandbox
	place   imagePlace
	key     string
	free    func()
	closed  atomic.Bool
	text    []byte
	is      image.Description
	header  image.MRCHeader
}

func (s *Stack) open(ctx context.Context, in *instance) (reply, error) {
	req, err := json.Marshal(struct {
		imagePlace
		Key string `json:"key"`
	}{s.place, s.key})
	if err != nil {
		return reply{}, fault.New(fault.ErrInvalid, "sandbox", "", err.Error())
	}
	return in.do(ctx, wire.KindImagesOpen, req, nil)
}

func (s *Stack) first(ctx context.Context) error {
	in, err := s.sandbox.take(ctx)
	if err != nil {
		return err
	}
	defer s.sandbox.put(in)
	r, err := s.open(ctx, in)
	if err != nil {
		return err
	}
	in.handles[s] = r.object
	s.text = r.bytes
	if err := s.parse(); err != nil {
		_ = in.forget(s)
		return err
	}
	return nil
}

// openOn opens it again, on another instance.
func (s *Stack) openOn(ctx context.Context, in *instance) (uint32, error) {
	if s.closed.Load() {
		return 0, errClosed("images")
	}
	r, err := s.open(ctx, in)
	if err != nil {
		return 0, err
	}
	if string(r.bytes) != string(s.text) {
		_, _ = in.do(ctx, wire.KindClose, binary.LittleEndian.AppendUint32(nil, r.object), nil)
		return 0, fault.New(fault.ErrStale, "image", s.key, "it is another file by now")
	}
	return r.object, nil
}

// described is what the guest says of images.
type described struct {
	Kind       string  `json:"kind"`
	Shape      []int64 `json:"shape"`
	DataType   string  `json:"data_type"`
	Images     int64   `json:"images"`
	ImageShape []int64 `json:"image_shape"`
}

func (d *described) description() (is image.Description, err error) {
	t, ok := image.ParseType(d.DataType)
	is = image.Description{Type: t, Shape: d.Shape, CoreRank: 2, Count: d.Images, ImageShape: d.ImageShape}
	if d.Kind == "volume" || d.Kind == "stack of volumes" {
		is.CoreRank = 3
	}
	if !ok || is.Check() != nil {
		err = internal("describes images that cannot be")
	}
	return is, err
}

// parse takes the description apart that the guest gave.
func (s *Stack) parse() error {
	var d struct {
		described
		Mode       int32
		ByteOrder  string  `json:"byte_order"`
		SpaceGroup int32   `json:"space_group"`
		PixelSize  float64 `json:"pixel_size"`
		Axes       [3]int32
		Extended   int32  `json:"extended_header_bytes"`
		ExtendedBy string `json:"extended_header_type"`
		Labels     []string
		Warnings   []string
	}
	if json.Unmarshal(s.text, &d) != nil {
		return internal("describes images with what is not JSON")
	}
	s.header = image.MRCHeader{
		Mode: d.Mode, SpaceGroup: d.SpaceGroup, PixelSize: d.PixelSize, Axes: d.Axes, BigEndian: d.ByteOrder == "big",
		Extended: d.Extended, ExtendedType: d.ExtendedBy, Labels: d.Labels, Warnings: d.Warnings,
	}
	var err error
	s.is, err = d.description()
	return err
}

// Describe is image.Reader's.
func (s *Stack) Describe() image.Description { return s.is }

// Header says what "gridhold info" prints of the file's header; its extents
// and its version are 0: see Describe. It is the stack's.
func (s *Stack) Header() *image.MRCHeader { return &s.header }

// DescribeJSON is what "gridhold info --json" prints. The bytes must not be
// changed.
func (s *Stack) DescribeJSON() json.RawMessage { return s.text }

// ReadImages is image.Reader's. It asks for as many images at a time as the
// guest has memory for. ErrLimit for one that is larger than that.
func (s *Stack) ReadImages(ctx context.Context, dst []byte, first int64) error {
	size := s.is.ImageBytes()
	if s.closed.Load() {
		return errClosed("images")
	}
	if len(dst) == 0 {
		return storage.Ended(ctx, s.key)
	}
	if int64(len(dst))%size != 0 {
		return fault.New(fault.ErrInvalid, "image", s.key, "a destination that is not a number of images long")
	}
	if n := int64(len(dst)) / size; first < 0 || n > s.is.Count || first > s.is.Count-n {
		return fault.New(fault.ErrOutOfRange, "image", s.key, "beyond those of the file")
	}
	most := max(1, s.sandbox.config.Memory/8/size)
	for n := int64(len(dst)) / size; n > 0; {
		count := min(n, most)
		part := dst[:count*size]
		r, err := s.do(ctx, first, count, part)
		if err != nil {
			return err
		}
		if len(r.bytes) != len(part) {
			return internal("answers another number of bytes")
		}
		dst, first, n = dst[len(part):], first+count, n-count
	}
	return nil
}

func (s *Stack) do(ctx context.Context, first, count int64, dst []byte) (reply, error) {
	in, err := s.sandbox.take(ctx)
	if err != nil {
		return reply{}, err
	}
	defer s.sandbox.put(in)
	h, err := in.handle(ctx, s)
	if err != nil {
		return reply{}, err
	}
	le := binary.LittleEndian
	req := le.AppendUint32(le.AppendUint32(in.scratch[:0], h), 0)
	in.scratch = appendDims(req, []int64{first, count})
	return in.do(ctx, wire.KindImagesRead, in.scratch, slices.Clip(dst))
}

// Close closes the file. Later calls give ErrClosed; closing twice is fine.
func (s *Stack) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.sandbox.end(s, s.free)
	return nil
}
