package blosc2

import (
	"context"
	"slices"
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
)

// together is all with several chunks at once. Chunks go to different items of
// the slice, so workers share nothing but the view.
func (g *gather) together(ctx context.Context, axes [][]cut, grid []int64) error {
	var (
		jobs   = make(chan []cut)
		stop   = make(chan struct{}) // closed with the first error
		once   sync.Once
		failed error
		wait   sync.WaitGroup
	)
	fail := func(err error) {
		once.Do(func() {
			failed = err
			close(stop)
		})
	}
	for range g.o.Workers {
		own := *g
		own.buf, own.o.Workers = nil, 0
		wait.Add(1)
		fault.Go(func() {
			for at := range jobs {
				if err := own.fromChunk(ctx, number(at, grid), at); err != nil {
					fail(err)
				}
			}
			wait.Done()
		}, func(err error) {
			fail(err)
			wait.Done()
		})
	}
	each(axes, func(at []cut) error {
		select {
		case jobs <- slices.Clone(at):
			return nil
		case <-stop:
			return failed
		}
	})
	close(jobs)
	wait.Wait()
	return failed
}
