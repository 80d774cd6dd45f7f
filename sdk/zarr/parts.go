package zarr

import (
	"sync"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
)

// eachPart calls f for each subchunk that the block from lo to hi of a shard
// touches. Its bounds lie in room.
func eachPart(ref *shardRef, lo, hi []int64, out view, room *corners, f func(part) error) error {
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
	for k := range total {
		unravel(k, count, idx)
		p := part{lo: room.take(axes), hi: room.take(axes)}
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
	c := &crew{n: int64(n), f: f}
	c.wait.Add(width)
	work, fail := c.work, c.fail
	for range width - 1 {
		fault.Go(work, fail)
	}
	work()
	c.wait.Wait()
	return c.first
}

// crew is those who work side by side.
type crew struct {
	n      int64
	f      func(int) error
	next   atomic.Int64
	failed atomic.Bool
	once   sync.Once
	first  error
	wait   sync.WaitGroup
}

func (c *crew) fail(err error) {
	c.failed.Store(true)
	c.once.Do(func() { c.first = err })
}

func (c *crew) work() {
	defer c.wait.Done()
	defer func() { // the caller's share too: the others write to memory that the caller would leave
		if p := recover(); p != nil {
			c.fail(fault.Recovered(p))
		}
	}()
	for !c.failed.Load() {
		i := c.next.Add(1) - 1
		if i >= c.n {
			break
		}
		if err := c.f(int(i)); err != nil {
			c.fail(err)
		}
	}
}
