package zarr

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// fewBytes of elements are decoded sooner than a goroutine begins with half of
// them.
const fewBytes = 64 << 10

// maxBatch is how many stored bytes of one shard are in memory at once,
// unless one subchunk has more.
const maxBatch = 16 << 20

// load is subchunks of one shard that are read and decoded together, and room
// for what that takes, which the next load of some shard uses again.
type load struct {
	reader
	ref   shardRef
	parts []part
	sum   int64 // bytes of them as stored

	corners corners // of parts
	order   []int   // of parts, by offset
	ranges  []storage.Range
	fetch   fetch
	buf     []byte // what is read
}

// mostParts is the most parts for which room is kept.
const mostParts = 4 << 10

var loads = sync.Pool{New: func() any { return new(load) }}

// load begins one; release is its end.
func (r reader) load(ref *shardRef) *load {
	l := loads.Get().(*load)
	l.reader, l.ref = r, *ref
	return l
}

func (l *load) release() {
	l.empty()
	l.reader, l.ref = reader{}, shardRef{}
	l.corners.reset()
	if cap(l.buf) > maxBatch {
		l.buf = nil
	}
	if cap(l.parts) <= mostParts {
		loads.Put(l)
	}
}

// empty forgets the parts.
func (l *load) empty() {
	clear(l.parts)
	clear(l.fetch.out)
	l.parts, l.sum = l.parts[:0], 0
}

// add puts a part at the end, and decodes all of them if they are large
// enough.
func (l *load) add(ctx context.Context, p part) error {
	s := l.ref.codec
	if want, fixed := s.inner.encodedSize(s.sub); fixed && p.r.Len != want {
		return l.partError(wrongLength(p.r.Off, p.r.Len, want), p)
	}
	if err := l.limits.check("stored subchunk", p.r.Len, true); err != nil {
		return err
	}
	l.parts = append(l.parts, p)
	if l.sum += p.r.Len; l.sum < maxBatch {
		return nil
	}
	return l.decode(ctx)
}

// decode reads the stored bytes of the parts in one batch, decodes them side
// by side, and forgets them.
func (l *load) decode(ctx context.Context) error {
	if len(l.parts) == 0 {
		return nil
	}
	defer l.empty()
	if err := ctx.Err(); err != nil {
		return err
	}
	s, n := l.ref.codec, len(l.parts)
	l.order, l.ranges = l.order[:0], l.ranges[:0]
	for i := range n { // a sort of numbers is one that the guest has already
		l.order = append(l.order, i)
	}
	slices.SortStableFunc(l.order, func(a, b int) int { return cmp.Compare(l.parts[a].r.Off, l.parts[b].r.Off) })
	for _, at := range l.order {
		l.ranges = append(l.ranges, l.parts[at].r)
	}
	buf := &l.buf
	if s.elem.variable { // its cells go on pointing into what was read
		buf = nil
	}
	if err := l.ref.from.read(ctx, l.ranges, buf, &l.fetch); err != nil {
		return err
	}
	if s.inner.size(s.sub)*int64(n) < fewBytes {
		return l.run(ctx, 0, n)
	}
	// Runs of subchunks, so that a goroutine costs little beside its work.
	width := runtime.GOMAXPROCS(0)
	run := max(1, min(16, n/(2*width)))
	return parallel((n+run-1)/run, width, func(k int) error { return l.run(ctx, k*run, min((k+1)*run, n)) })
}

// run decodes some of the parts, in the order of their offsets.
func (l *load) run(ctx context.Context, from, to int) error {
	for i := from; i < to; i++ {
		p := l.parts[l.order[i]]
		if err := l.decodeInto(ctx, l.ref.codec.inner, l.fetch.out[i], l.ref.codec.sub, p.lo, p.hi, p.out); err != nil {
			return l.partError(err, p)
		}
		if l.tick != nil {
			if err := l.tick(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// partError says which subchunk of a shard a failure belongs to.
func (l *load) partError(err error, p part) error {
	if fault.CodeOf(err) == fault.CodeCancelled {
		return err
	}
	what := "subchunk " + itoa(p.i) + " of the shard"
	if l.ref.from.key != "" {
		what = l.ref.from.key + " " + what
	}
	return &fault.Error{Format: "zarr", Item: what, Off: p.r.Off, Err: err}
}

// corners is room for those of many boxes.
type corners struct{ first, free []int64 }

// take returns one of n axes, zero, that is its taker's until reset.
func (x *corners) take(n int) []int64 {
	if len(x.free) < n {
		x.free = make([]int64, 128*n)
		if x.first == nil {
			x.first = x.free
		}
	}
	taken := x.free[:n:n]
	x.free = x.free[n:]
	clear(taken)
	return taken
}

// reset takes all of them back.
func (x *corners) reset() { x.free = x.first }
