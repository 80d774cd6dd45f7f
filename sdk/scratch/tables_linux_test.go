package scratch

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/image"
)

// Rows of a table in any order, of half of the images: each stack is opened
// once and read from front to back, what lies together at once, and nothing
// that is not needed.
func TestPrefetchInOrder(t *testing.T) {
	d := newDesk(t, 16, 16)
	var rows []image.ImageLocation
	for k := range 10 {
		key := string(rune('a' + k))
		d.write(key, 0, 200)
		for i := range int64(200) {
			if i/10%2 == 0 {
				rows = append(rows, image.ImageLocation{Key: key, Index: i})
			}
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	require.Len(t, rows, 1000)
	g := group(t, rows)
	s, err := CreateHostImageScratch(ctx, g, 10, Everything, d.raw, waiting)
	require.NoError(t, err)
	closing(t, s)
	first := map[string][]int64{}
	d.before(func(key string, at int64) error {
		first[key] = append(first[key], at) // one worker: one at a time
		return nil
	})
	require.NoError(t, PrefetchScratch(ctx, s, g, NewExecutor(1), nil).Wait(ctx))
	d.before(nil)
	require.Equal(t, int64(10), d.opens.Load())
	require.Equal(t, int64(100), d.reads.Load(), "ten images a read")
	for key, at := range first {
		require.True(t, slices.IsSorted(at), key)
	}
	require.Equal(t, int64(1000*1024), s.Stats().SourceBytes)
}

// Names are taken as they are written: what looks alike is not the same, and a
// link is what it leads to now.
func TestNamesOfSources(t *testing.T) {
	d := newDesk(t, 16, 16)
	composed, apart := "\u00e9", "e\u0301"
	for _, key := range []string{"A", "a", composed, apart, "b", "c"} {
		d.write(key, 0, 5)
	}
	link := filepath.Join(d.dir, "link")
	require.NoError(t, os.Symlink("b", link))
	g := group(t, images("A"), images("a"), images(composed), images(apart), images("b"), images("link"))
	for _, kind := range kinds[1:] {
		require.NoError(t, os.Remove(link))
		require.NoError(t, os.Symlink("b", link))
		for _, leads := range []string{"b", "c", "b"} {
			s, err := kind.create(d, g, 2, Everything)
			require.NoError(t, err)
			for range 2 {
				for _, key := range []string{"A", "a", composed, apart, "b"} {
					d.check(s, key, 0, upTo(5)...)
				}
				got := make([]byte, 5*1024)
				require.NoError(t, s.ReadImages(ctx, "link", got, 0))
				require.Equal(t, d.pixels(leads, 0, upTo(5)...), got)
			}
			require.NoError(t, s.Close())
			require.NoError(t, os.Remove(link))
			require.NoError(t, os.Symlink(map[string]string{"b": "c", "c": "b"}[leads], link))
		}
	}
}

// Jobs that make room for each other in one directory, all the time: nobody
// meets an error, a wrong pixel or more than the budget.
func TestDirectoryTrimmedByMany(t *testing.T) {
	d := newDesk(t, 32, 32)
	sets := d.sets(6)
	const budget = 2*setBytes + 3*page
	var jobs sync.WaitGroup
	for j := range 3 {
		jobs.Add(1)
		go func() {
			defer jobs.Done()
			r := rand.New(rand.NewPCG(4, uint64(j)))
			for range 40 {
				i := r.IntN(len(sets))
				s, err := CreateDirectoryImageScratch(ctx, sets[i], d.fs, "dir", 2, budget, d.raw, waiting)
				if err != nil {
					t.Error(err)
					return
				}
				got := make([]byte, page)
				for range 20 {
					k := r.Int64N(16)
					if err := s.ReadImages(ctx, string(rune('a'+i)), got, k); err != nil || string(got) != string(d.pixels(string(rune('a'+i)), 0, k)) {
						t.Error("wrong pixels, or ", err)
					}
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	jobs.Wait()
	require.LessOrEqual(t, d.taken("dir"), int64(budget))
}

// A directory that is removed under a scratch costs nothing but what was
// held: readers go on, and the next job makes it anew.
func TestDirectoryVanishes(t *testing.T) {
	d := newDesk(t, 32, 32)
	g := d.sets(1)[0]
	s := d.directory(g, 2, Everything, waiting)
	d.check(s, "a", 0, 0, 1, 2)
	require.NoError(t, os.RemoveAll(filepath.Join(d.dir, "dir")))
	d.check(s, "a", 0, upTo(16)...)
	d.prefetch(s, g)
	next := d.directory(g, 2, Everything, waiting)
	d.check(next, "a", 0, upTo(16)...)
	require.NotEmpty(t, d.scratches("dir"))
}
