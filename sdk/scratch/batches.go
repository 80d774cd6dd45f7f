package scratch

import (
	"context"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Batch is one batch of an epoch. All of it is valid until the next one is
// asked for.
type Batch struct {
	Rows   []int64 // the places of its images in the locations
	Pixels []byte  // one image after another
	Shape  []int64 // of an image
	Type   image.Type
}

// BatchOptions says how Batches goes through images. Its zero value is not
// enough: Batch is needed.
type BatchOptions struct {
	Sampler       // its Count is that of the locations, whatever it says
	Epoch   int64 // the number of the epoch
	// Ahead is how many batches are loaded before they are asked for. 0: 1;
	// negative: none. Memory is for one more than that.
	Ahead int
}

// Batches goes through one epoch of images, all of one size. The next batches
// are loaded while the caller is at one. The first failure is yielded and ends
// the epoch, as ErrCancelled does when ctx ends; a caller that stops early
// waits for what is being loaded. ErrLimit for a batch of more than 256 GiB.
func (l *Loader) Batches(ctx context.Context, locations []image.ImageLocation, o BatchOptions) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		o.Count = int64(len(locations))
		if err := o.Check(); err != nil {
			yield(nil, err)
			return
		}
		if len(locations) == 0 {
			return
		}
		shape, t, err := l.Describe(ctx, locations[0])
		if err != nil {
			yield(nil, err)
			return
		}
		e := &epoch{Loader: l, locations: locations, o: o, order: o.Order(o.Epoch), shape: shape, t: t, size: int64(t.Size())}
		for _, n := range shape {
			e.size *= n
		}
		if most := min(o.Batch, o.Count); e.size > mostBatch/most {
			yield(nil, fault.New(fault.ErrLimit, "loader", locations[0].String(), strconv.FormatInt(most, 10)+" images of "+strconv.FormatInt(e.size, 10)+" bytes in a batch"))
			return
		}
		switch {
		case o.Ahead < 0:
			e.here(ctx, yield)
		default:
			e.ahead(ctx, max(o.Ahead, 1), yield)
		}
	}
}

// mostBatch is how many bytes a batch has at most: more than that is a file
// that lies rather than a machine of that size.
const mostBatch = min(1<<38, math.MaxInt)

// epoch is one run of Batches.
type epoch struct {
	*Loader
	locations []image.ImageLocation
	o         BatchOptions
	order     []int64
	shape     []int64
	t         image.Type
	size      int64 // of an image in bytes
}

// load reads the i-th batch into b.
func (e *epoch) load(ctx context.Context, i int64, b *Batch) error {
	b.Rows = e.order[i*e.o.Batch : min((i+1)*e.o.Batch, int64(len(e.order)))]
	b.Shape, b.Type = slices.Clone(e.shape), e.t
	n := int64(len(b.Rows)) * e.size
	if int64(cap(b.Pixels)) < n {
		b.Pixels = make([]byte, n)
	}
	b.Pixels = b.Pixels[:n]
	locations := make([]image.ImageLocation, len(b.Rows))
	for j, row := range b.Rows {
		locations[j] = e.locations[row]
	}
	return e.ReadBatch(ctx, b.Pixels, locations)
}

func (e *epoch) here(ctx context.Context, yield func(*Batch, error) bool) {
	b := new(Batch)
	for i := range e.o.Batches() {
		if err := e.load(ctx, i, b); err != nil {
			yield(nil, err)
			return
		}
		if !yield(b, nil) {
			return
		}
	}
}

// loaded is a batch that has been loaded, or why not.
type loaded struct {
	*Batch
	err error
}

// ahead loads batches on a goroutine of its own, into memory that goes round.
func (e *epoch) ahead(ctx context.Context, n int, yield func(*Batch, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	free, done := make(chan *Batch, n+1), make(chan loaded, n)
	for range n + 1 {
		free <- new(Batch)
	}
	fault.Go(func() {
		defer close(done)
		defer func() { // before close: a panic ends the epoch and not the program
			if p := recover(); p != nil {
				done <- loaded{nil, fault.Recovered(p)}
			}
		}()
		for i := range e.o.Batches() {
			select {
			case <-ctx.Done():
				done <- loaded{nil, storage.Ended(ctx, "batch")}
				return
			case b := <-free:
				err := e.load(ctx, i, b)
				done <- loaded{b, err}
				if err != nil {
					return
				}
			}
		}
	}, func(error) {})
	defer func() {
		cancel()
		for range done { // until nothing is written to memory that may be used again
		}
	}()
	for b := range done {
		if b.err == nil {
			b.err = storage.Ended(ctx, "batch") // however many are loaded
		}
		if b.err != nil {
			yield(nil, b.err)
			return
		}
		if !yield(b.Batch, nil) {
			return
		}
		free <- b.Batch
	}
}
