package scratch

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
)

// loaderOf returns a loader over a scratch of any kind, both closed with the
// test.
func loaderOf(t *testing.T, s *ImageScratch, o LoaderOptions) *Loader {
	t.Helper()
	p, err := ReaderProvider(s)
	require.NoError(t, err)
	l, err := NewLoader(p, o)
	require.NoError(t, err)
	require.NoError(t, p.Close())
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// Images of several files in any order, some not held and some twice, through
// each kind of scratch and without one.
func TestLoaderReadsBatches(t *testing.T) {
	for _, kind := range append(kinds, kinds[0]) {
		t.Run(kind.name, func(t *testing.T) {
			d := newDesk(t, 8, 8)
			d.write("a", 0, 40)
			d.write("b", 0, 30)
			d.write("not held", 0, 5)
			s, err := kind.create(d, group(t, images("a"), images("b", upTo(20)...)), 4, Everything)
			require.NoError(t, err)
			defer s.Close()
			l := loaderOf(t, s, LoaderOptions{Workers: 3})
			all := slices.Concat(images("a", upTo(40)...), images("b", upTo(30)...), images("not held", upTo(5)...))
			random := rand.New(rand.NewPCG(1, 2))
			for range 4 {
				random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				some := append(slices.Clone(all[:60]), all[7], all[7])
				got := make([]byte, len(some)*256)
				require.NoError(t, l.ReadBatch(ctx, got, some))
				for i, at := range some {
					require.Equal(t, d.pixels(at.Key, 0, at.Index), got[i*256:(i+1)*256], "%v", at)
				}
			}
			slices.SortFunc(all, image.ImageLocation.Compare) // neighbours are read together
			got := make([]byte, len(all)*256)
			require.NoError(t, l.ReadBatch(ctx, got, all))
			require.Equal(t, slices.Concat(d.pixels("a", 0, upTo(40)...), d.pixels("b", 0, upTo(30)...), d.pixels("not held", 0, upTo(5)...)), got)
			whole := append(images("a"), images("a")...)
			got = make([]byte, 2*40*256)
			require.NoError(t, l.ReadBatch(ctx, got, whole))
			require.Equal(t, d.pixels("a", 0, upTo(40)...), got[40*256:])
			require.NoError(t, l.ReadBatch(ctx, nil, nil))
		})
	}
}

func TestLoaderRefuses(t *testing.T) {
	d := newDesk(t, 8, 8)
	d.write("a", 0, 10)
	s, err := CreateHostImageScratch(ctx, group(t, images("a")), 4, Everything, d.raw, waiting)
	require.NoError(t, err)
	closing(t, s)
	l := loaderOf(t, s, LoaderOptions{})
	for _, tc := range []struct {
		name string
		room int
		at   []image.ImageLocation
		want error
		text string
	}{
		{"an index it lacks", 512, images("a", 3, 10), fault.ErrOutOfRange, "000011@a"},
		{"less room than an image", 2 * 255, images("a", 3, 4), fault.ErrInvalid, "000004@a"},
		{"more room", 1024, images("a", 3, 4), fault.ErrInvalid, "000004@a"},
		{"a part of a byte", 511, images("a", 3, 4), fault.ErrInvalid, ""},
		{"no room", 0, images("a", 3, 4), fault.ErrInvalid, ""},
		{"no images", 256, nil, fault.ErrInvalid, ""},
		{"of two sizes", 512, append(images("a", 3), images("a")...), fault.ErrInvalid, "a"},
		{"no such file", 512, append(images("a", 3), images("x", 0)...), fault.ErrNotFound, "x"},
	} {
		err := l.ReadBatch(ctx, make([]byte, tc.room), tc.at)
		require.ErrorIs(t, err, tc.want, tc.name)
		require.ErrorContains(t, err, tc.text, tc.name)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, l.ReadBatch(over, make([]byte, 256), images("a", 9)), fault.ErrCancelled)
	_, err = NewLoader(d.raw, LoaderOptions{Type: 99})
	require.ErrorIs(t, err, fault.ErrInvalid)
	c, err := NewLoader(d.raw, LoaderOptions{Type: image.Complex64})
	require.NoError(t, err)
	require.ErrorIs(t, c.ReadBatch(ctx, make([]byte, 512), images("a", 9)), fault.ErrInvalid)
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	require.ErrorIs(t, c.ReadBatch(ctx, make([]byte, 512), images("a", 9)), fault.ErrClosed)
	// A provider that panics does not end the program.
	d.before(func(string, int64) error { panic("broken") })
	require.ErrorIs(t, l.ReadBatch(ctx, make([]byte, 256*10), images("a", upTo(10)...)), fault.ErrInternal)
}

// The scratch lives as long as the last who reads through it, and needs no
// source for what it holds.
func TestLoaderKeepsTheScratch(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			d := newDesk(t, 8, 8)
			d.write("a", 0, 10)
			g := group(t, images("a"))
			s, err := kind.create(d, g, 4, Everything)
			require.NoError(t, err)
			d.prefetch(s, g)
			p, err := ReaderProvider(s)
			require.NoError(t, err)
			require.ErrorIs(t, PrefetchScratch(ctx, s, g, NewExecutor(1), p).Wait(ctx), fault.ErrInvalid, "from itself")
			l, err := NewLoader(p, LoaderOptions{})
			require.NoError(t, err)
			r, err := p.Open(ctx, "a")
			require.NoError(t, err)
			require.NoError(t, s.Close())
			require.NoError(t, p.Close())
			require.NoError(t, p.Close())
			require.NoError(t, d.fs.Remove(ctx, "a"))
			opens := d.opens.Load()
			_, err = ReaderProvider(s)
			require.ErrorIs(t, err, fault.ErrClosed)
			_, err = NewLoader(p, LoaderOptions{})
			require.ErrorIs(t, err, fault.ErrClosed)
			_, err = p.Open(ctx, "a")
			require.ErrorIs(t, err, fault.ErrClosed)
			got := make([]byte, 2560)
			require.NoError(t, l.ReadBatch(ctx, got, images("a", upTo(10)...)))
			require.Equal(t, d.pixels("a", 0, upTo(10)...), got)
			require.NoError(t, l.Close())
			clear(got)
			require.NoError(t, r.ReadImages(ctx, got, 0))
			require.Equal(t, d.pixels("a", 0, upTo(10)...), got)
			require.Equal(t, opens, d.opens.Load())
			require.NotZero(t, s.holders.Load())
			require.NoError(t, r.Close())
			require.NoError(t, r.Close())
			require.Zero(t, s.holders.Load())
			require.ErrorIs(t, r.ReadImages(ctx, got, 0), fault.ErrClosed)
		})
	}
}

// never is an executor that comes to nothing, as one whose workers all wait
// does.
type never struct{ tasks []func() }

func (n *never) Execute(task func()) { n.tasks = append(n.tasks, task) }

// inline is an executor that does it at once.
type inline struct{}

func (inline) Execute(task func()) { task() }

func TestLoaderExecutors(t *testing.T) {
	d := newDesk(t, 8, 8)
	d.write("a", 0, 100)
	late := new(never)
	for _, e := range []Executor{nil, late, inline{}, NewExecutor(1)} {
		l, err := NewLoader(d.raw, LoaderOptions{Workers: 4, Executor: e})
		require.NoError(t, err)
		got := make([]byte, 100*256)
		require.NoError(t, l.ReadBatch(ctx, got, images("a", upTo(100)...)))
		require.Equal(t, d.pixels("a", 0, upTo(100)...), got)
		clear(got)
		for _, task := range late.tasks {
			task() // too late: the destination is the caller's again
		}
		require.Equal(t, make([]byte, len(got)), got)
		require.NoError(t, l.Close())
	}
	require.Len(t, late.tasks, 3)
	// From within the only worker of an executor.
	e := NewExecutor(1)
	l, err := NewLoader(d.raw, LoaderOptions{Workers: 4, Executor: e})
	require.NoError(t, err)
	done := make(chan error)
	e.Execute(func() { done <- l.ReadBatch(ctx, make([]byte, 100*256), images("a", upTo(100)...)) })
	require.NoError(t, <-done)
	require.NoError(t, l.Close())
}

func TestLoaderCasts(t *testing.T) {
	d := newDesk(t, 8, 8)
	d.write("a", 0, 20)
	s, err := CreateHostImageScratch(ctx, group(t, images("a")), 4, Everything, d.raw, waiting)
	require.NoError(t, err)
	closing(t, s)
	l := loaderOf(t, s, LoaderOptions{Type: image.Float64})
	shape, typ, err := l.Describe(ctx, images("a", 3)[0])
	require.NoError(t, err)
	require.Equal(t, []int64{8, 8}, shape)
	require.Equal(t, image.Float64, typ)
	shape, _, err = l.Describe(ctx, images("a")[0])
	require.NoError(t, err)
	require.Equal(t, []int64{20, 8, 8}, shape)
	got := make([]byte, 20*512)
	require.NoError(t, l.ReadBatch(ctx, got, images("a", upTo(20)...)))
	want := make([]byte, 20*512)
	require.NoError(t, image.Cast(want, image.Float64, d.pixels("a", 0, upTo(20)...), image.Float32))
	require.Equal(t, want, got)
}

func TestSampler(t *testing.T) {
	s := Sampler{Count: 103, Batch: 10, Shuffle: true, Seed: 7}
	require.NoError(t, s.Check())
	require.Equal(t, int64(11), s.Batches())
	first := s.Order(0)
	require.Equal(t, first, s.Order(0))
	require.NotEqual(t, first, s.Order(1))
	require.Equal(t, []int64{99, 33, 34, 4}, first[:4], "the order is a promise")
	sorted := slices.Sorted(slices.Values(first))
	require.Equal(t, upTo(103), sorted)
	var together []int64
	for shard := range int64(4) {
		part := s
		part.Shard, part.Shards = shard, 4
		mine := part.Order(0)
		require.InDelta(t, 26, len(mine), 1)
		require.Equal(t, int64(len(mine)+9)/10, part.Batches())
		together = append(together, mine...)
	}
	require.Equal(t, upTo(103), slices.Sorted(slices.Values(together)))
	s.DropLast = true
	require.Equal(t, int64(10), s.Batches())
	require.Equal(t, upTo(103), Sampler{Count: 103, Batch: 1}.Order(5))
	for _, bad := range []Sampler{{}, {Batch: 1, Count: -1}, {Batch: 1, Shard: 1}, {Batch: 1, Shard: 2, Shards: 2}, {Batch: 1, Shard: -1, Shards: 2}} {
		require.ErrorIs(t, bad.Check(), fault.ErrInvalid)
	}
}

func TestBatches(t *testing.T) {
	d := newDesk(t, 8, 8)
	d.write("a", 0, 40)
	d.write("b", 0, 23)
	s, err := CreateHostImageScratch(ctx, group(t, images("a"), images("b")), 4, Everything, d.raw, waiting)
	require.NoError(t, err)
	closing(t, s)
	l := loaderOf(t, s, LoaderOptions{})
	all := append(images("a", upTo(40)...), images("b", upTo(23)...)...)
	for _, ahead := range []int{-1, 0, 1, 3, 20} {
		o := BatchOptions{Sampler: Sampler{Batch: 10, Shuffle: true, Seed: 5}, Epoch: 2, Ahead: ahead}
		var rows []int64
		for b, err := range l.Batches(ctx, all, o) {
			require.NoError(t, err)
			require.Equal(t, []int64{8, 8}, b.Shape)
			require.Equal(t, image.Float32, b.Type)
			require.Len(t, b.Pixels, len(b.Rows)*256)
			for i, row := range b.Rows {
				require.Equal(t, d.pixels(all[row].Key, 0, all[row].Index), b.Pixels[i*256:(i+1)*256])
			}
			rows = append(rows, b.Rows...)
		}
		want := o.Sampler
		want.Count = 63
		require.Equal(t, want.Order(2), rows)

		n := 0
		for range l.Batches(ctx, all, o) { // who stops early leaves nothing behind
			if n++; n == 2 {
				break
			}
		}
		over, cancel := context.WithCancel(ctx)
		n = 0
		var last error
		for _, err := range l.Batches(over, all, o) {
			n++
			cancel()
			last = err
		}
		cancel()
		require.ErrorIs(t, last, fault.ErrCancelled)
		require.Less(t, n, 8)
	}
	broken := errors.New("broken")
	d.before(func(key string, first int64) error {
		if key == "c" && first == 7 {
			return broken
		}
		return nil
	})
	d.write("c", 0, 20)
	n := 0
	for _, err := range l.Batches(ctx, images("c", upTo(20)...), BatchOptions{Sampler: Sampler{Batch: 1}}) {
		if n++; n == 8 {
			require.ErrorIs(t, err, broken)
		} else {
			require.NoError(t, err)
		}
	}
	require.Equal(t, 8, n)
	for _, err := range l.Batches(ctx, all, BatchOptions{}) {
		require.ErrorIs(t, err, fault.ErrInvalid)
	}
	for range l.Batches(ctx, nil, BatchOptions{Sampler: Sampler{Batch: 1}}) {
		t.Fatal("of nothing there is no batch")
	}
}

// Patches hold what a look at each pixel says.
func TestPatches(t *testing.T) {
	d := newDesk(t, 9, 13)
	d.write("a", 0, 4)
	s, err := CreateHostImageScratch(ctx, group(t, images("a")), 4, Everything, d.raw, waiting)
	require.NoError(t, err)
	closing(t, s)
	l := loaderOf(t, s, LoaderOptions{Type: image.Int32})
	pixels := d.pixels("a", 0, 2)
	at := func(y, x int64) int32 {
		if y < 0 || x < 0 || y >= 9 || x >= 13 {
			return -7
		}
		return int32(math.Float32frombits(binary.LittleEndian.Uint32(pixels[(y*13+x)*4:])))
	}
	centres := [][]int64{{4, 6}, {0, 0}, {8, 12}, {-3, 5}, {4, 100}, {-100, -100}, {math.MinInt64, math.MaxInt64}, {math.MaxInt64, 0}, {9, 6}, {-1, -1}}
	for _, extent := range [][]int64{{4, 4}, {5, 3}, {1, 1}, {30, 40}} {
		got := make([]byte, int64(len(centres))*extent[0]*extent[1]*4)
		require.NoError(t, l.ReadPatches(ctx, got, images("a", 2)[0], extent, centres, -7.9))
		i := 0
		for _, c := range centres {
			for y := range extent[0] {
				for x := range extent[1] {
					py, px := c[0]-extent[0]/2+y, c[1]-extent[1]/2+x
					if c[0] == math.MinInt64 || c[0] == math.MaxInt64 {
						py = -1
					}
					require.Equal(t, at(py, px), int32(binary.LittleEndian.Uint32(got[i:])), "%v of %v at %d, %d", extent, c, y, x)
					i += 4
				}
			}
		}
	}
	volume := make([]byte, 2*2*2*4)
	require.NoError(t, l.ReadPatches(ctx, volume, images("a")[0], []int64{2, 2, 2}, [][]int64{{3, 1, 1}}, 0))
	require.Equal(t, at(0, 0), int32(binary.LittleEndian.Uint32(volume)))
	for _, tc := range []struct {
		room    int
		extent  []int64
		centres [][]int64
	}{
		{4, []int64{1}, [][]int64{{1, 1}}}, {4, []int64{1, 1}, [][]int64{{1}}}, {8, []int64{1, 1}, [][]int64{{1, 1}}},
		{0, []int64{0, 1}, [][]int64{{1, 1}}}, {4, []int64{1 << 40, 1 << 40}, [][]int64{{1, 1}}},
	} {
		require.ErrorIs(t, l.ReadPatches(ctx, make([]byte, tc.room), images("a", 0)[0], tc.extent, tc.centres, 0), fault.ErrInvalid)
	}
	require.ErrorIs(t, l.ReadPatches(ctx, nil, images("a", 4)[0], []int64{1, 1}, nil, 0), fault.ErrOutOfRange)
}

// Several batches at once over one scratch that is being filled.
func TestLoaderTogether(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			d := newDesk(t, 8, 8)
			d.write("a", 0, 200)
			s, err := kind.create(d, group(t, images("a")), 8, Everything)
			require.NoError(t, err)
			closing(t, s)
			l := loaderOf(t, s, LoaderOptions{Workers: 3})
			var wg sync.WaitGroup
			for seed := range uint64(4) {
				wg.Go(func() {
					order := Sampler{Count: 200, Batch: 50, Shuffle: true, Seed: seed}.Order(0)
					got := make([]byte, 200*256)
					if err := l.ReadBatch(ctx, got, images("a", order...)); err != nil {
						t.Error(err)
					}
					for i, index := range order {
						if string(got[i*256:(i+1)*256]) != string(d.pixels("a", 0, index)) {
							t.Errorf("wrong pixels of image %d", index)
						}
					}
				})
			}
			wg.Wait()
			require.Equal(t, int64(25), s.Stats().Filled)
		})
	}
}
