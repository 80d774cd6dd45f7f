package scratch

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// LoaderOptions says how images are loaded. The zero value is the advice.
type LoaderOptions struct {
	// Workers is how many images are read at a time, of all batches together.
	// 0: 2.
	Workers int
	// Executor runs the workers of a batch besides the caller, which is one
	// itself. nil: goroutines of the loader's own.
	Executor Executor
	// Type is what pixels are turned into; 0: they stay as they are stored.
	// See image.Cast.
	Type image.Type
	// OpenFiles is how many files are kept open where there is no scratch.
	// 0: 32.
	OpenFiles int
}

// Loader reads batches of images. Safe for concurrent use.
type Loader struct {
	files   image.ReaderProvider
	o       LoaderOptions
	release func() error
	slots   chan struct{} // one for each worker that is at it
	spare   sync.Pool     // *[]byte, for images that are turned into another type
	closed  atomic.Bool
}

// NewLoader returns a loader of images that a provider opens: a Provider, for
// those of a scratch, or any other one, whose files are kept open then. It
// keeps a scratch alive until it is closed, also after the Provider and the
// scratch are.
func NewLoader(files image.ReaderProvider, o LoaderOptions) (*Loader, error) {
	if o.Workers <= 0 {
		o.Workers = 2
	}
	if o.OpenFiles <= 0 {
		o.OpenFiles = 32
	}
	if o.Executor == nil {
		o.Executor = goroutines{}
	}
	if o.Type != 0 && !o.Type.Valid() {
		return nil, fault.New(fault.ErrInvalid, "loader", "", "not a type of pixels")
	}
	l := &Loader{o: o, slots: make(chan struct{}, o.Workers)}
	if p, ok := files.(*Provider); ok {
		mine, err := p.another()
		if err != nil {
			return nil, err
		}
		l.files, l.release = mine, mine.Close
		return l, nil
	}
	kept := image.KeepOpen(files, o.OpenFiles)
	l.files, l.release = kept, kept.Close
	return l, nil
}

// Close ends the loader. Closing twice is fine.
func (l *Loader) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	return l.release()
}

// Describe returns what a location means: the shape and the type, as the
// loader gives it. ErrOutOfRange for an index that the file lacks.
func (l *Loader) Describe(ctx context.Context, at image.ImageLocation) (shape []int64, t image.Type, err error) {
	err = l.with(ctx, at.Key, func(r image.Reader) error {
		d := r.Describe()
		if _, _, err := d.Images(at); err != nil {
			return err
		}
		shape, t = d.ImageShape, l.typeOf(d)
		if at.IsWhole() {
			shape = d.Shape
		}
		return l.castable(at, d)
	})
	return slices.Clone(shape), t, err
}

// typeOf is the type in which the loader gives images of a file.
func (l *Loader) typeOf(d image.Description) image.Type {
	if l.o.Type != 0 {
		return l.o.Type
	}
	return d.Type
}

func (l *Loader) castable(at image.ImageLocation, d image.Description) error {
	if t := l.typeOf(d); !image.Castable(d.Type, t) {
		return fault.New(fault.ErrInvalid, "loader", at.String(), "its pixels are "+d.Type.String()+", which are not cast to "+t.String())
	}
	return nil
}

// with opens a file for as long as do takes.
func (l *Loader) with(ctx context.Context, key string, do func(image.Reader) error) (err error) {
	if l.closed.Load() {
		return fault.New(fault.ErrClosed, "loader", key, "")
	}
	r, err := l.files.Open(ctx, key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return do(r)
}

// ReadBatch fills dst with what the locations mean, in their order, one after
// another. All have the same size, which is len(dst) divided by how many they
// are: ErrInvalid for an image of another one, which is never cut or filled
// up. Locations may repeat.
//
// Images are read by several workers, those of a file in ascending order and
// neighbours together. The first failure ends the batch and names the
// location; dst holds anything then.
func (l *Loader) ReadBatch(ctx context.Context, dst []byte, locations []image.ImageLocation) error {
	if len(locations) == 0 {
		if len(dst) == 0 {
			return nil
		}
		return fault.New(fault.ErrInvalid, "loader", "", "a destination for no images")
	}
	size := len(dst) / len(locations)
	if size*len(locations) != len(dst) || size == 0 {
		return fault.New(fault.ErrInvalid, "loader", "", "a destination of "+strconv.Itoa(len(dst))+" bytes for "+strconv.Itoa(len(locations))+" images")
	}
	b := &batch{Loader: l, ctx: ctx, dst: dst, size: size, locations: locations, order: make([]int32, len(locations))}
	for i := range b.order {
		b.order[i] = int32(i)
	}
	slices.SortFunc(b.order, func(i, j int32) int { return locations[i].Compare(locations[j]) })
	return b.read()
}

// batch is one ReadBatch.
type batch struct {
	*Loader
	ctx       context.Context
	dst       []byte
	size      int // of one image, as it is given
	locations []image.ImageLocation
	order     []int32 // places in locations, ascending by location
	next      atomic.Int64

	mu      sync.Mutex
	err     error
	over    bool // who comes now finds nothing to do
	helpers sync.WaitGroup
}

// portion is how many images a worker takes at a time.
const portion = 8

// goroutines is the executor that has as many as there are tasks.
type goroutines struct{}

func (goroutines) Execute(task func()) { fault.Go(task, func(error) {}) }

func (b *batch) read() error {
	for range min(b.o.Workers, (len(b.order)+portion-1)/portion) - 1 {
		b.o.Executor.Execute(func() {
			b.mu.Lock()
			if b.over {
				b.mu.Unlock()
				return
			}
			b.helpers.Add(1)
			b.mu.Unlock()
			defer b.helpers.Done()
			b.work()
		})
	}
	b.work()
	// An executor may not have come to all of its tasks, or be waiting for
	// this very call: who has not begun is not waited for.
	b.mu.Lock()
	b.over = true
	b.mu.Unlock()
	b.helpers.Wait()
	return b.err
}

func (b *batch) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
	b.next.Store(int64(len(b.order)))
}

// work takes portions until none is left.
func (b *batch) work() {
	defer func() {
		if p := recover(); p != nil { // of a provider, most likely
			b.fail(fault.Recovered(p))
		}
	}()
	select {
	case b.slots <- struct{}{}:
	case <-b.ctx.Done():
		b.fail(storage.Ended(b.ctx, "batch"))
		return
	}
	defer func() { <-b.slots }()
	for {
		to := b.next.Add(portion)
		from := to - portion
		if from >= int64(len(b.order)) {
			return
		}
		part := b.order[from:min(to, int64(len(b.order)))]
		for len(part) > 0 {
			n := 1
			for n < len(part) && b.locations[part[n]].Key == b.locations[part[0]].Key {
				n++
			}
			err := b.with(b.ctx, b.locations[part[0]].Key, func(r image.Reader) error { return b.readFile(r, part[:n]) })
			if err != nil {
				b.fail(err)
				return
			}
			part = part[n:]
		}
	}
}

// readFile reads images of one file.
func (b *batch) readFile(r image.Reader, part []int32) error {
	d := r.Describe()
	for len(part) > 0 {
		at := b.locations[part[0]]
		first, count, err := d.Images(at)
		if err != nil {
			return err
		}
		if err := b.castable(at, d); err != nil {
			return err
		}
		if want := d.ImageBytes() / int64(d.Type.Size()) * int64(b.typeOf(d).Size()) * count; want != int64(b.size) {
			return fault.New(fault.ErrInvalid, "loader", at.String(), "it has "+strconv.FormatInt(want, 10)+" bytes, there is room for "+strconv.Itoa(b.size))
		}
		// Neighbours that also lie side by side in the batch are one read.
		n := 1
		for !at.IsWhole() && n < len(part) && part[n] == part[n-1]+1 && b.locations[part[n]].Index == at.Index+int64(n) {
			n++
		}
		if _, _, err := d.Images(b.locations[part[n-1]]); err != nil {
			return err
		}
		to := b.dst[int(part[0])*b.size:][:n*b.size]
		if err := b.readInto(b.ctx, r, to, first); err != nil {
			return err
		}
		part = part[n:]
	}
	return nil
}

// readInto reads images and turns them into the loader's type.
func (l *Loader) readInto(ctx context.Context, r image.Reader, dst []byte, first int64) error {
	d := r.Describe()
	t := l.typeOf(d)
	if t == d.Type {
		return r.ReadImages(ctx, dst, first)
	}
	n := len(dst) / t.Size() * d.Type.Size()
	raw, _ := l.spare.Get().(*[]byte)
	if raw == nil || cap(*raw) < n {
		raw = new([]byte)
		*raw = make([]byte, n)
	}
	defer l.spare.Put(raw)
	if err := r.ReadImages(ctx, (*raw)[:n], first); err != nil {
		return err
	}
	return image.Cast(dst, t, (*raw)[:n], d.Type)
}
