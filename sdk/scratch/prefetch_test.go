package scratch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
)

func TestPrefetch(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			d := newDesk(t, 16, 16)
			for _, key := range []string{"a", "b", "c"} {
				d.write(key, 0, 10)
			}
			g := group(t, images("a"), images("b", 0, 1, 2, 3, 8), images("c"))
			s, err := kind.create(d, g, 4, 1<<20)
			require.NoError(t, err)
			closing(t, s)
			opens := d.opens.Load()
			d.write("d", 0, 3)
			c := PrefetchScratch(ctx, s, group(t, images("a"), images("b", 1, 9, 8, 77), images("d", 0), images("e")), NewExecutor(3), nil)
			require.NoError(t, c.Wait(ctx))
			require.Equal(t, Progress{2, 2, 5, 5, 15 * 1024, 15 * 1024}, c.Progress())
			require.Equal(t, opens, d.opens.Load(), "kept open since they were described")
			require.Equal(t, int64(5), s.Stats().Filled)
			reads := s.Stats().SourceReads
			d.prefetch(s, g)
			require.Equal(t, reads+3, s.Stats().SourceReads, "what is there is not read again")
			d.check(s, "b", 0, 8, 0)
			d.check(s, "c", 0, 9, 5)
			require.Equal(t, reads+3, s.Stats().SourceReads)

			again := PrefetchScratch(ctx, s, g, NewExecutor(1), nil)
			require.NoError(t, again.Wait(ctx))
			require.NoError(t, s.Close())
			require.ErrorIs(t, PrefetchScratch(ctx, s, g, NewExecutor(1), nil).Wait(ctx), fault.ErrClosed)
		})
	}
}

// wrapped is a provider that does not tell what it reads through.
type wrapped struct{ image.ReaderProvider }

// A prefetch from a provider that reads through the scratch it fills does not
// wait for itself, and takes in the right pixels.
func TestPrefetchThroughItself(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			d := newDesk(t, 16, 16)
			d.write("a", 0, 10)
			d.write("b", 0, 10)
			g := group(t, images("a"), images("b", 1, 3, 4, 9))
			s, err := kind.create(d, g, 4, 1<<20)
			require.NoError(t, err)
			closing(t, s)
			p, err := ReaderProvider(s)
			require.NoError(t, err)
			defer p.Close()
			require.ErrorIs(t, PrefetchScratch(ctx, s, g, NewExecutor(1), p).Wait(ctx), fault.ErrInvalid)
			done := PrefetchScratch(ctx, s, g, NewExecutor(2), wrapped{p})
			require.NoError(t, done.Wait(ctx))
			require.Equal(t, int64(4), s.Stats().Filled)
			reads := s.Stats().SourceReads
			d.check(s, "a", 0, 0, 9)
			d.check(s, "b", 0, 1, 9)
			require.Equal(t, reads, s.Stats().SourceReads, "it is all there")
		})
	}
}

// A file that fails does not keep the others from being taken in; the first
// failure is what comes out.
func TestPrefetchFails(t *testing.T) {
	d := newDesk(t, 16, 16)
	for _, key := range []string{"a", "b", "c"} {
		d.write(key, 0, 10)
	}
	g := group(t, images("a"), images("b"), images("c"))
	s, err := CreateHostImageScratch(ctx, g, 4, Everything, d.raw, waiting)
	require.NoError(t, err)
	closing(t, s)
	d.before(func(key string, first int64) error {
		if key == "b" && first == 4 {
			return fault.New(fault.ErrIO, "raw", key, "a bad disk")
		}
		return nil
	})
	c := PrefetchScratch(ctx, s, g, NewExecutor(2), nil)
	require.ErrorContains(t, c.Wait(ctx), "a bad disk")
	require.Equal(t, int64(7), s.Stats().Filled)
	got := make([]byte, 1024)
	require.ErrorIs(t, s.ReadImages(ctx, "b", got, 4), fault.ErrIO)
	d.check(s, "b", 0, 5) // of the same run
	d.check(s, "b", 0, 1)
	d.before(func(string, int64) error { panic("a provider's own") })
	c = PrefetchScratch(ctx, s, g, NewExecutor(2), nil)
	require.ErrorIs(t, c.Wait(ctx), fault.ErrInternal)
	d.before(nil)
	d.check(s, "b", 0, 5) // nothing is stuck
}

// A prefetch ends when it is told to, in the middle of a file.
func TestPrefetchCancelled(t *testing.T) {
	d := newDesk(t, 16, 16)
	d.write("a", 0, 100)
	g := group(t, images("a"))
	s, err := CreateHostImageScratch(ctx, g, 1, Everything, d.raw, waiting)
	require.NoError(t, err)
	closing(t, s)
	var c *Completion
	started := make(chan bool)
	d.before(func(key string, first int64) error {
		if first == 10 {
			<-started
			c.Cancel()
		}
		return nil
	})
	c = PrefetchScratch(ctx, s, g, NewExecutor(1), nil)
	close(started)
	require.ErrorIs(t, c.Wait(ctx), fault.ErrCancelled)
	require.Less(t, s.Stats().Filled, int64(13))
	require.Equal(t, s.Stats().Filled, c.Progress().RunsDone)
}
