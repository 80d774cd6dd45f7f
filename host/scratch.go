package host

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/scratch"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// Scratch is a scratch of images that was opened in a sandbox: it shares its
// file with those of package scratch, in this process and in others. Its
// methods have the names and meanings of that package, and may be called
// concurrently; those of one scratch take turns. Close it.
//
// After the guest died it opens itself again. One in memory is empty then.
type Scratch struct {
	sandbox   *Sandbox
	files     imagePlace
	recipe    scratchRecipe
	locations []byte // as the request has them
	places    map[string]uint32
	home      *slot // whose instance has it
	free      func()
	closed    atomic.Bool
}

// scratchRecipe is the JSON of the request of scratch_open.
type scratchRecipe struct {
	Where      string     `json:"where"`
	FS         uint32     `json:"fs,omitempty"`
	Name       string     `json:"name,omitempty"`
	RunLength  int64      `json:"run_length"`
	Budget     int64      `json:"budget"`
	Files      imagePlace `json:"files"`
	Overwrite  bool       `json:"overwrite,omitempty"`
	ReadOnly   bool       `json:"read_only,omitempty"`
	Reserve    bool       `json:"reserve,omitempty"`
	KeepFree   int64      `json:"keep_free,omitempty"`
	Verify     string     `json:"verify,omitempty"`
	Boot       string     `json:"boot,omitempty"`
	Durable    bool       `json:"durable,omitempty"`
	Revalidate int64      `json:"revalidate_ms,omitempty"`
	OpenFiles  int        `json:"open_files,omitempty"`
	Network    bool       `json:"network,omitempty"`
}

var verifications = map[scratch.VerifyWhen]string{scratch.VerifyFirst: "first", scratch.VerifyAlways: "always", scratch.VerifyRestart: "restart"}

// CreateHostImageScratch makes a scratch in the guest's memory, of which it
// may take half: see [scratch.CreateHostImageScratch]. Of o, Clock, Parallel
// and NoMap mean nothing here, nor below.
func (s *Sandbox) CreateHostImageScratch(ctx context.Context, locations *image.ImageLocationGrouping, runLength, maxSize int64, files *Images, o scratch.Options) (*Scratch, error) {
	return s.createScratch(ctx, locations, nil, scratchRecipe{Where: "memory", RunLength: runLength, Budget: maxSize}, files, o)
}

// CreateMappedFileImageScratch is [scratch.CreateMappedFileImageScratch]. The
// guest maps nothing: it reads and writes, and locks, the file through fs.
func (s *Sandbox) CreateMappedFileImageScratch(ctx context.Context, locations *image.ImageLocationGrouping, fs storage.FS, path string, runLength, maxSize int64, files *Images, o scratch.Options) (*Scratch, error) {
	return s.createScratch(ctx, locations, fs, scratchRecipe{Where: "file", Name: path, RunLength: runLength, Budget: maxSize}, files, o)
}

// CreateDirectoryImageScratch is [scratch.CreateDirectoryImageScratch].
func (s *Sandbox) CreateDirectoryImageScratch(ctx context.Context, locations *image.ImageLocationGrouping, fs storage.FS, directory string, runLength, budget int64, files *Images, o scratch.Options) (*Scratch, error) {
	return s.createScratch(ctx, locations, fs, scratchRecipe{Where: "directory", Name: directory, RunLength: runLength, Budget: budget}, files, o)
}

func (s *Sandbox) createScratch(ctx context.Context, locations *image.ImageLocationGrouping, fs storage.FS, r scratchRecipe, files *Images, o scratch.Options) (*Scratch, error) {
	if r.RunLength < 1 || r.Budget < 0 {
		return nil, fault.New(fault.ErrInvalid, "scratch", "", "a run of no images, or a negative size")
	}
	if files == nil || files.sandbox != s {
		return nil, fault.New(fault.ErrInvalid, "scratch", "files", "not of this sandbox")
	}
	place, free, err := files.place()
	if err != nil {
		return nil, err
	}
	c := &Scratch{sandbox: s, recipe: r, free: free, places: map[string]uint32{}}
	c.recipe.Files = place
	c.options(o)
	if fs != nil {
		c.recipe.FS = s.systems.add(fs)
		c.free = func() { free(); s.systems.remove(c.recipe.FS) }
	}
	c.pack(locations)
	if c.free, err = s.admit(c.free); err != nil {
		return nil, err
	}
	if err := c.with(ctx, func(in *instance, _ uint32) error { c.home = in.slot; return nil }); err != nil {
		c.free()
		return nil, err
	}
	return c, nil
}

func (c *Scratch) options(o scratch.Options) {
	r := &c.recipe
	r.Overwrite, r.ReadOnly, r.Reserve, r.KeepFree, r.Verify, r.Boot = o.Overwrite, o.ReadOnly, o.Reserve, o.KeepFree, verifications[o.Verify], o.Boot
	r.Durable, r.Revalidate, r.OpenFiles, r.Network = o.Durable, int64((o.Revalidate+time.Millisecond-1)/time.Millisecond), o.OpenFiles, o.Network
}

// pack writes the locations as the request has them: keys, then images.
func (c *Scratch) pack(g *image.ImageLocationGrouping) {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, uint32(g.Len()))
	for i := range g.Len() {
		key := g.Group(i).Key
		c.places[key] = uint32(i)
		b = append(le.AppendUint32(b, uint32(len(key))), key...)
	}
	for l := range g.All() {
		b = appendWanted(b, c.places[l.Key], l.Index)
	}
	c.locations = b
}

func appendWanted(b []byte, key uint32, index int64) []byte {
	le := binary.LittleEndian
	return le.AppendUint64(le.AppendUint32(le.AppendUint32(b, key), 0), uint64(index))
}

// openOn makes or opens it on an instance.
func (c *Scratch) openOn(ctx context.Context, in *instance) (uint32, error) {
	if c.closed.Load() {
		return 0, errClosed("scratch")
	}
	text, err := json.Marshal(c.recipe)
	if err != nil {
		return 0, fault.New(fault.ErrInvalid, "sandbox", "", err.Error())
	}
	req := append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
	r, err := in.do(ctx, wire.KindScratchOpen, append(req, c.locations...), nil)
	return r.object, err
}

// with takes the instance, and the handle on it.
func (c *Scratch) with(ctx context.Context, do func(in *instance, h uint32) error) error {
	if c.closed.Load() {
		return errClosed("scratch")
	}
	in, err := c.sandbox.takeAt(ctx, c.home)
	if err != nil {
		return err
	}
	defer c.sandbox.put(in)
	h, err := in.handle(ctx, c)
	if err != nil {
		return err
	}
	return do(in, h)
}

// ReadImages is [scratch.ImageScratch.ReadImages].
func (c *Scratch) ReadImages(ctx context.Context, name string, dst []byte, first int64) error {
	is, err := c.Describe(ctx, name)
	if err != nil {
		return err
	}
	size := is.ImageBytes()
	if int64(len(dst))%size != 0 {
		return fault.New(fault.ErrInvalid, "scratch", name, "a destination that is not a number of images long")
	}
	most := max(1, c.sandbox.config.Memory/8/size)
	for n := int64(len(dst)) / size; n > 0; {
		count := min(n, most)
		var all []image.ImageLocation
		for i := range count {
			all = append(all, image.ImageLocation{Key: name, Index: first + i})
		}
		if err := c.ReadBatch(ctx, dst[:count*size], all); err != nil {
			return err
		}
		dst, first, n = dst[count*size:], first+count, n-count
	}
	return nil
}

// ReadBatch fills dst with images in their order, one after another. ErrInvalid
// where dst has another size; ErrLimit for more than the guest has memory for.
func (c *Scratch) ReadBatch(ctx context.Context, dst []byte, images []image.ImageLocation) error {
	return c.with(ctx, func(in *instance, h uint32) error {
		r, err := c.ask(ctx, in, wire.KindScratchRead, h, images, dst)
		if err == nil && len(r.bytes) != len(dst) {
			err = fault.New(fault.ErrInvalid, "scratch", "", "a destination of another size than the images")
		}
		return err
	})
}

// Locate is [scratch.ImageScratch.Locate] of images: those that are not there
// have an Off of -1.
func (c *Scratch) Locate(ctx context.Context, images []image.ImageLocation) (places []scratch.Place, err error) {
	return places, c.with(ctx, func(in *instance, h uint32) error {
		r, err := c.ask(ctx, in, wire.KindScratchLocate, h, images, nil)
		if err != nil {
			return err
		}
		if len(r.bytes) != len(images)*wire.KeptSize {
			return internal("answers another number of places")
		}
		for b := r.bytes; len(b) > 0; b = b[wire.KeptSize:] {
			places = append(places, scratch.Place{
				Off: i64(b, 0), Len: i64(b, 8), RunAt: i64(b, 16), RunWord: uint64(i64(b, 24)), KeyAt: i64(b, 32), KeyWord: uint64(i64(b, 40)),
			})
		}
		return nil
	})
}

func (c *Scratch) ask(ctx context.Context, in *instance, kind, h uint32, images []image.ImageLocation, dst []byte) (reply, error) {
	le := binary.LittleEndian
	req := le.AppendUint32(le.AppendUint32(in.scratch[:0], h), 0)
	for _, l := range images {
		place, ok := c.places[l.Key]
		if !ok {
			return reply{}, fault.New(fault.ErrInvalid, "scratch", l.Key, "not a file of this scratch")
		}
		req = appendWanted(req, place, l.Index)
	}
	if cap(req) <= keptScratch {
		in.scratch = req
	}
	return in.do(ctx, kind, req, dst)
}

// scratchDeed is a request of scratch_do.
type scratchDeed struct {
	Do      string   `json:"do"`
	Scratch uint32   `json:"scratch,omitempty"`
	FS      uint32   `json:"fs,omitempty"`
	Name    string   `json:"name,omitempty"`
	Keys    []uint32 `json:"keys,omitempty"`
	Budget  *int64   `json:"budget,omitempty"`
}

func (in *instance) scratchDo(ctx context.Context, d scratchDeed, result any) error {
	req, err := json.Marshal(d)
	if err != nil {
		return fault.New(fault.ErrInvalid, "sandbox", "", err.Error())
	}
	r, err := in.do(ctx, wire.KindScratchDo, req, nil)
	if err == nil && json.Unmarshal(r.bytes, result) != nil {
		err = internal("answers what is not JSON")
	}
	return err
}

// Describe says what a file of the scratch was when it was laid out.
// ErrInvalid for a name that the scratch does not know.
func (c *Scratch) Describe(ctx context.Context, name string) (is image.Description, err error) {
	place, ok := c.places[name]
	if !ok {
		return is, fault.New(fault.ErrInvalid, "scratch", name, "not a file of this scratch")
	}
	return is, c.with(ctx, func(in *instance, h uint32) error {
		var all []*described
		if err := in.scratchDo(ctx, scratchDeed{Do: "describe", Scratch: h, Keys: []uint32{place}}, &all); err != nil {
			return err
		}
		if len(all) != 1 {
			return internal("answers another number of descriptions")
		}
		if all[0] == nil {
			return fault.New(fault.ErrInvalid, "scratch", name, "not a file of this scratch")
		}
		is, err = all[0].description()
		return err
	})
}

// Stats counts, as [scratch.ImageScratch.Stats] does, since the scratch was
// opened in the guest that runs now.
func (c *Scratch) Stats(ctx context.Context) (st scratch.Stats, err error) {
	return st, c.with(ctx, func(in *instance, h uint32) error {
		return in.scratchDo(ctx, scratchDeed{Do: "stats", Scratch: h}, (*statsJSON)(&st))
	})
}

// Prefetch takes in what there is room for: files one after another, so that
// other calls get their turn between two. progress, if not nil, is called
// after each.
func (c *Scratch) Prefetch(ctx context.Context, progress func(done, files int)) error {
	for i := range len(c.places) {
		err := c.with(ctx, func(in *instance, h uint32) error {
			return in.scratchDo(ctx, scratchDeed{Do: "prefetch", Scratch: h, Keys: []uint32{uint32(i)}}, new(json.RawMessage))
		})
		if err != nil {
			return err
		}
		if progress != nil {
			progress(i+1, len(c.places))
		}
	}
	return nil
}

// Close ends the caller's use of the scratch. Closing twice is fine.
func (c *Scratch) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	return c.sandbox.endAt(c, c.home, c.free)
}
