package zarr

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// eachPart calls f for each subchunk that the block from lo to hi of a shard
// touches.
func eachPart(ref shardRef, lo, hi []int64, out view, f func(part) error) error {
	sub := ref.codec.sub
	axes := len(sub)
	l, err := ref.codec.layout(ref.shape)
	if err != nil {
		return err
	}
	first, count := make([]int64, axes), make([]int64, axes)
	total := int64(1)
	for i := range sub {
		first[i] = lo[i] / sub[i]
		count[i] = (hi[i]-1)/sub[i] - first[i] + 1
		total *= count[i]
	}
	idx, at := make([]int64, axes), make([]int64, axes)
	var edges []int64 // of several parts
	for k := range total {
		unravel(k, count, idx)
		if len(edges) == 0 {
			edges = make([]int64, min(64, total-k)*int64(2*axes))
		}
		p := part{lo: edges[:axes:axes], hi: edges[axes : 2*axes : 2*axes]}
		edges = edges[2*axes:]
		for i := range idx {
			idx[i] += first[i]
			origin := idx[i] * sub[i]
			p.lo[i] = max(lo[i]-origin, 0)
			p.hi[i] = min(hi[i]-origin, sub[i])
			at[i] = origin + p.lo[i] - lo[i]
		}
		p.i, p.out = linear(idx, l.per), out.at(at)
		if err := f(p); err != nil {
			return err
		}
	}
	return nil
}

// fewBytes of elements are decoded sooner than a goroutine begins with half of
// them.
const fewBytes = 64 << 10

// maxBatch is how many stored bytes of one shard are in memory at once,
// unless one subchunk has more.
const maxBatch = 16 << 20

// add puts a part at the end of a batch, and decodes the batch if it is large
// enough.
func (r reader) add(ctx context.Context, ref shardRef, batch []part, p part) ([]part, error) {
	s := ref.codec
	if want, fixed := s.inner.encodedSize(s.sub); fixed && p.r.Len != want {
		return batch, r.partError(wrongLength(p.r.Off, p.r.Len, want), ref, p)
	}
	if err := r.limits.check("stored subchunk", p.r.Len, true); err != nil {
		return batch, err
	}
	p.sum = p.r.Len
	if n := len(batch); n > 0 {
		p.sum += batch[n-1].sum
	}
	if batch = append(batch, p); p.sum < maxBatch {
		return batch, nil
	}
	return batch[:0], r.decodeParts(ctx, ref, batch)
}

// decodeParts reads the stored bytes of subchunks of one shard in one batch
// and decodes them side by side.
func (r reader) decodeParts(ctx context.Context, ref shardRef, parts []part) error {
	if len(parts) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s := ref.codec
	order := make([]int, len(parts)) // a sort of numbers is one that the guest has already
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(parts[a].r.Off, parts[b].r.Off) })
	rs := make([]storage.Range, len(parts))
	for i, at := range order {
		rs[i] = parts[at].r
	}
	var buf *[]byte
	if !s.elem.variable { // whose cells go on pointing into what was read
		buf = scratch.Get().(*[]byte)
		defer scratch.Put(buf)
	}
	stored, err := ref.from.read(ctx, rs, buf)
	if err != nil {
		return err
	}
	// Runs of subchunks, so that a goroutine costs little beside its work.
	width := runtime.GOMAXPROCS(0)
	if s.inner.size(s.sub)*int64(len(parts)) < fewBytes {
		width = 1
	}
	run := max(1, min(16, len(parts)/(2*width)))
	return parallel((len(parts)+run-1)/run, width, func(k int) error {
		for i := k * run; i < min((k+1)*run, len(parts)); i++ {
			p := parts[order[i]]
			if err := r.decodeInto(ctx, s.inner, stored[i], s.sub, p.lo, p.hi, p.out); err != nil {
				return r.partError(err, ref, p)
			}
			if r.tick != nil {
				if err := r.tick(ctx); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// partError says which subchunk of a shard a failure belongs to.
func (r reader) partError(err error, ref shardRef, p part) error {
	if fault.CodeOf(err) == fault.CodeCancelled {
		return err
	}
	what := "subchunk " + itoa(p.i) + " of the shard"
	if ref.from.key != "" {
		what = ref.from.key + " " + what
	}
	return &fault.Error{Format: "zarr", Item: what, Off: p.r.Off, Err: err}
}

// atOnce is how many chunks of a region or of a batch are on their way at a
// time. More than there are processors: a cold shard waits for its index first.
// A shard brings several requests, a chunk that is none just one, so there
// are as many requests as a store has under way; fewer of large chunks, each of
// which is in memory as it is stored and as it is decoded.
func (a *Array) atOnce() int {
	if a.shards != nil || a.subEdge == nil {
		return 16
	}
	n := a.meta.codecs.size(a.subEdge)
	return int(min(32, max(1, a.o.Limits.chunk()/max(1, 2*n))))
}

// parallel calls f for 0 to n-1, at most width at a time, and returns the
// first failure. After a failure no further call is started.
func parallel(n, width int, f func(int) error) error {
	width = min(n, width)
	if width <= 1 {
		for i := range n {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	var next atomic.Int64
	var failed atomic.Bool
	var once sync.Once
	var first error
	fail := func(err error) {
		failed.Store(true)
		once.Do(func() { first = err })
	}
	var wg sync.WaitGroup
	wg.Add(width)
	work := func() {
		defer wg.Done()
		defer func() { // the caller's share too: the others write to memory that the caller would leave
			if p := recover(); p != nil {
				fail(fault.Recovered(p))
			}
		}()
		for !failed.Load() {
			i := int(next.Add(1)) - 1
			if i >= n {
				break
			}
			if err := f(i); err != nil {
				fail(err)
			}
		}
	}
	for range width - 1 {
		fault.Go(work, fail)
	}
	work()
	wg.Wait()
	return first
}
