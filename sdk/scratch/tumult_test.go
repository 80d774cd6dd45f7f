//go:build unix

package scratch

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Two scratches over one file, read by many at once, while one of the sources
// is replaced again and again and others read from a third that believes for
// longer: every image is whole, and of one version.
func TestTumult(t *testing.T) {
	d := newDesk(t, 64, 64)
	const count, versions = 24, 12
	d.write("a", 0, count)
	d.write("b", 0, count)
	g := group(t, images("a"), images("b"))
	all := map[string]bool{} // every image there may be
	for v := range versions {
		for i := range int64(count) {
			all[string(d.pixels("a", v, i))] = true
		}
	}
	o := waiting
	o.Revalidate = 1
	byCalls := o
	byCalls.NoMap = true
	scratches := []*ImageScratch{d.mapped(g, 4, Everything, o), d.mapped(g, 4, Everything, byCalls), d.mapped(g, 4, Everything, waiting)}
	var done atomic.Bool
	var stale, reads atomic.Int64
	var group sync.WaitGroup
	for w := range 6 {
		group.Add(1)
		go func() {
			defer group.Done()
			r := rand.New(rand.NewPCG(3, uint64(w)))
			s := scratches[w%len(scratches)]
			got := make([]byte, 4*64*64)
			for !done.Load() {
				i := r.Int64N(count)
				err := s.ReadImages(ctx, "a", got, i)
				reads.Add(1)
				switch {
				case errors.Is(err, fault.ErrStale), errors.Is(err, fault.ErrNotFound): // replaced twice in the middle
					stale.Add(1)
				case err != nil:
					panic(err)
				case !all[string(got)]:
					panic("an image that never was")
				}
				d.check(s, "b", 0, i)
			}
		}()
	}
	for v := 1; v < versions; v++ {
		name := filepath.Join(d.dir, "new")
		require.NoError(t, os.WriteFile(name, d.pixels("a", v, upTo(count)...), 0o666))
		for from := reads.Load(); reads.Load() < from+100; { // so that they see it
			d.check(scratches[0], "b", 0, 3)
		}
		require.NoError(t, os.Rename(name, filepath.Join(d.dir, "a")))
	}
	done.Store(true)
	group.Wait()
	t.Logf("%d reads, %d of them in the middle of a change", reads.Load(), stale.Load())
	for _, s := range scratches[:2] {
		d.check(s, "a", versions-1, upTo(count)...)
	}
	require.Positive(t, scratches[0].Stats().Changed)
}
