package engine

import (
	"errors"
	"math"
	"math/bits"
	"sync"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// object is what a handle stands for: one of an array, a cache, a group, a
// container, a file of images, a scratch.
type object struct {
	array     *zarr.Array
	cache     *zarr.ShardCache
	group     *zarr.Group
	container blosc2.Container
	endHold   func() error // of a container that is held; closing it is ending that
	inMemory  string       // the name in the instance's memory that the container was made under; "": none
	images    image.Reader
	scratch   *scratchObject

	// of an array
	host     uint32         // id of its host store; 0: not one of the host's
	zipped   bool           // it is in an archive: its keys are none of the host's
	tally    *storage.Tally // of its reads; nil: not traced
	subchunk int64          // bytes of one decoded subchunk
	item     int64          // bytes of one element
	buffers  *buffers

	mu    sync.Mutex
	below []uint32 // handles of an array's caches, of what was opened in a store
	owner *object  // whose below it is in; nil: nobody's
}

func arrayObject(a *zarr.Array, host uint32) *object {
	o := &object{array: a, host: host, item: int64(a.DataType().Size())}
	o.subchunk = volume(a.EffectiveSubchunkShape(), o.item)
	o.buffers = &buffers{size: o.subchunk}
	return o
}

// volume returns the product of a shape and n, or the largest number there
// is where the product is larger or a length is negative.
func volume(shape []int64, n int64) int64 {
	p := uint64(n)
	for _, s := range shape {
		if s < 0 {
			return math.MaxInt64
		}
		hi, lo := bits.Mul64(p, uint64(s))
		if hi != 0 || lo > math.MaxInt64 {
			return math.MaxInt64
		}
		p = lo
	}
	return int64(p)
}

// put makes a handle.
func (e *Engine) put(o *object) (uint32, error) {
	h := e.handles.Put(o)
	if h == 0 {
		return 0, fault.New(fault.ErrLimit, "handle", "", "too many are open")
	}
	return h, nil
}

// arrayOf returns the array of a handle; nil for any other.
func (e *Engine) arrayOf(handle uint32) *object {
	if o, ok := e.handles.Get(handle); ok && o.array != nil {
		return o
	}
	return nil
}

func (e *Engine) cacheOf(handle uint32) *object {
	if o, ok := e.handles.Get(handle); ok && o.cache != nil {
		return o
	}
	return nil
}

func (e *Engine) containerOf(handle uint32) *object {
	if o, ok := e.handles.Get(handle); ok && o.container != nil {
		return o
	}
	return nil
}

// close takes a handle and those below it out of the table; open says whether
// it was there. Operations that hold an array go on; a container is closed
// under them.
func (e *Engine) close(handle uint32) (open bool, err error) {
	o, ok := e.handles.Remove(handle)
	if !ok {
		return false, nil
	}
	if o.owner != nil {
		o.owner.unlist(handle)
	}
	o.mu.Lock()
	below := o.below
	o.below = nil
	o.mu.Unlock()
	for _, h := range below {
		_, closeErr := e.close(h)
		err = errors.Join(err, closeErr)
	}
	if o.cache != nil {
		o.cache.Clear()
	}
	return true, errors.Join(err, o.closeContainer(), e.freeMemory(o), o.closeImages())
}

func (o *object) unlist(handle uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, h := range o.below {
		if h == handle {
			o.below = append(o.below[:i], o.below[i+1:]...)
			return
		}
	}
}

// buffers keeps results that were dropped, for the next ones of the same
// size.
type buffers struct {
	size int64

	mu   sync.Mutex
	free [][]byte
}

// keptBytes bounds what one array keeps in buffers.
const keptBytes = 1 << 20

func (b *buffers) get() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.free)
	if n == 0 {
		return nil
	}
	buf := b.free[n-1]
	b.free[n-1] = nil
	b.free = b.free[:n-1]
	return buf
}

func (b *buffers) put(buf []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if int64(cap(buf)) >= b.size && int64(len(b.free)+1)*b.size <= keptBytes {
		b.free = append(b.free, buf[:0])
	}
}
